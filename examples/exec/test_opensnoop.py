import subprocess


def test_opensnoop_prints_who_opens_what(tmp_path):
    events = tmp_path / "events"
    events.write_text("syscall/openat filename=/etc/hosts ret=3 task.comm=vi task.pid=77\n")
    r = subprocess.run(["bpfrun", "exec", "--btf", "6.12", "--quiet", "--events", events, "--", "opensnoop"], capture_output=True, text=True, check=True)
    assert r.stdout.splitlines()[1].split() == ["77", "vi", "3", "0", "/etc/hosts"]
