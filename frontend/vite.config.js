// One script and one style sheet, for the report and the labelling page alike; what they were built from is in their first line.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vite";

const here = import.meta.dirname;
const out = process.env.BUNDLE_FOLDER ?? join(here, "../src/altopt/drawing/bundle");

/** sha256 over everything that decides what the bundle is; the test of the bundle computes it likewise. */
function sources() {
  const sum = createHash("sha256");
  const files = ["package.json", "package-lock.json", "vite.config.js"];
  for (const name of readdirSync(join(here, "src")).sort()) files.push(`src/${name}`);
  for (const name of files) sum.update(readFileSync(join(here, name), "utf8").replaceAll("\r\n", "\n"));
  return sum.digest("hex");
}

/** The licences of the packages whose code is in the bundle, as they ask for. */
function licences(names) {
  return names.sort().map((name) => {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = ["LICENSE.txt", "LICENSE", "LICENSE.md"].map((each) => join(folder, each)).find(existsSync);
    return `${name} ${version} (${license})\n\n${file ? readFileSync(file, "utf8").trim() : ""}\n`;
  }).join("\n" + "-".repeat(80) + "\n\n");
}

function finish() {
  return {
    name: "finish",
    writeBundle(options, bundle) {
      const used = new Set();
      for (const chunk of Object.values(bundle)) {
        for (const id of Object.keys(chunk.modules ?? {})) {
          const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id);
          if (found) used.add(found[1]);
        }
      }
      const line = `/*! altopt front end, built from ${sources()} */\n`;
      const notices = licences([...used]);
      // a report is mailed alone: the notices go with the code that they are about
      const heads = { "altopt.js": `${line}/*!\n${notices}*/\n`, "altopt.css": line };
      for (const [name, head] of Object.entries(heads)) {
        const file = join(out, name);
        writeFileSync(file, head + readFileSync(file, "utf8").trimEnd() + "\n");
      }
      writeFileSync(join(out, "LICENCES.txt"), notices);
    },
  };
}

export default defineConfig({
  plugins: [finish()],
  logLevel: "warn",
  build: {
    outDir: out,
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    rollupOptions: {
      input: join(here, "src/main.js"),
      output: {
        format: "iife",
        entryFileNames: "altopt.js",
        assetFileNames: "altopt[extname]",
        inlineDynamicImports: true,
      },
    },
  },
});
