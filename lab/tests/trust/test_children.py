import os
import signal
import time

from altopt_lab.trust.children import Child, forked


def test_a_job_gives_what_it_returns_and_what_it_prints():
    def job():
        print("said")
        return {"one": 1}

    end = forked(job, 10)
    assert end.whole
    assert (end.value, end.output) == ({"one": 1}, "said\n")


def test_an_error_a_signal_and_a_hang_end_the_child_alone():
    assert "ZeroDivisionError" in forked(lambda: 1 / 0, 10).fault()
    assert forked(lambda: os.kill(os.getpid(), signal.SIGUSR1), 10).fault() == "killed by SIGUSR1"
    assert forked(lambda: time.sleep(60), 0.1).fault() == "did not end in time"


def test_a_child_can_be_killed():
    child = Child(lambda: time.sleep(60))
    assert child.running()
    child.kill()
    assert child.wait(10).signal == signal.SIGKILL
