//go:build linux && (amd64 || arm64)

package exec

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPlacesOfOtherMounts(t *testing.T) {
	table := &mountTable{list: oddMounts([]byte(`22 1 0:20 / / rw - ext4 /dev/vda rw
23 22 0:21 / /proc rw - proc proc rw
24 22 0:22 / /sys rw - sysfs sysfs rw
25 24 0:23 / /sys/kernel/tracing rw - tracefs tracefs rw
30 22 0:22 /kernel /mnt/a\040b rw - sysfs sysfs rw
31 22 0:23 / /run/t rw - tracefs tracefs rw
32 22 0:23 /instances /run/t/x rw - tracefs tracefs rw
33 22 0:29 / /run/t/y rw - tmpfs tmpfs rw
34 22 0:7 / /srv/debug rw - debugfs debugfs rw
35 22 0:40 / /run/bpf rw - bpf bpf rw
bad line
`))}
	for at, want := range map[string]string{
		"/": "/", "/etc/passwd": "/etc/passwd", "/proc/1/stat": "/proc/1/stat", "/sys": "/sys", "/sys/kernel/tracing/trace": "/sys/kernel/tracing/trace",
		"/mnt/a b": "/sys/kernel", "/mnt/a b/btf/vmlinux": "/sys/kernel/btf/vmlinux", "/run/t": "/sys/kernel/tracing", "/run/t/trace": "/sys/kernel/tracing/trace",
		"/run/t/x/1": "/sys/kernel/tracing/instances/1", "/run/t/y/1": "/run/t/y/1", "/run/tt": "/run/tt", "/srv/debug/tracing/trace": "/sys/kernel/debug/tracing/trace",
		"/run/bpf/pin": "/sys/fs/bpf/pin",
	} {
		assert.Equal(t, want, table.translate(at, "/"), at)
	}
	assert.Equal(t, "/sys/kernel/tracing/trace", table.translate("/jail/run/t/trace", "/jail"))
	assert.Equal(t, "/run/t/trace", table.translate("/run/t/trace", "/jail"), "outside of the root")
	assert.Nil(t, oddMounts([]byte("23 22 0:21 / /proc rw - proc proc rw\n24 22 0:22 / /sys rw - sysfs sysfs rw\n25 24 0:23 / /sys/kernel/debug/tracing rw - tracefs tracefs rw\n")))
}
