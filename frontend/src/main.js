// The script of every page: the page says by data-page what it is.
import "./style.css";
import { explore } from "./explore.js";
import { openForPrint, showGraphs } from "./report.js";

const start = document.documentElement.dataset.page === "explore" ? explore : showGraphs;
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
openForPrint();
