bpftool prog load examples/xdp/xdp.bpf.o /sys/fs/bpf/filter
bpftool prog list | grep -v loaded_at
bpftool map create /sys/fs/bpf/m type hash key 4 value 4 entries 4 name mm
bpftool map update pinned /sys/fs/bpf/m key 1 0 0 0 value 7 0 0 0
bpftool map dump pinned /sys/fs/bpf/m
ls /sys/fs/bpf
