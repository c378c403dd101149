//go:build linux && (amd64 || arm64)

package exec

import (
	"os"

	"golang.org/x/sys/unix"
)

// coverSource is the name under which a list of mounts has what covers the host's file systems.
const coverSource = "bpfrun-cover"

// coverHost gives the calling thread, and the processes that it starts, a mount namespace in which
// nothing of the host's tracefs and bpffs is left: an empty directory covers each mount. A path
// that a tool changes after it was checked leads there. It needs CAP_SYS_ADMIN, which the thread
// drops later, so that the tool cannot remove the covers, neither here nor in a user namespace of
// its own, where they are locked (mount_namespaces(7)). Other users do not need it: they have no
// right to these files. Mounts that the host makes or removes later are seen, as before.
func coverHost() {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return
	}
	list := kernelMounts(info)
	if len(list) == 0 || unix.Unshare(unix.CLONE_NEWNS) != nil || unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "") != nil {
		return
	}
	for _, at := range list {
		_ = unix.Mount(coverSource, at, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=4k,mode=755")
	}
}

// kernelMounts returns where a list of mounts in the form of /proc/PID/mountinfo has tracefs and
// bpffs. debugfs mounts a tracefs when somebody looks at it.
func kernelMounts(info []byte) (out []string) {
	for _, m := range hostMounts(info) {
		switch m.typ {
		case "tracefs", "bpf":
			out = append(out, m.at)
		case "debugfs":
			if m.root == "/" {
				out = append(out, m.at+"/tracing")
			}
		}
	}
	return out
}
