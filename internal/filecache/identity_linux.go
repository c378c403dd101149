package filecache

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// Identity identifies a file's content without reading it, as makers of incremental builds do: by
// where it is on which disk, its size, and when content and attributes changed last, which no
// program sets back. It returns "" for what is no regular file and for one that changed just before
// now.
func Identity(fi fs.FileInfo, now time.Time) string {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || !fi.Mode().IsRegular() {
		return ""
	}
	if changed := time.Unix(st.Ctim.Unix()); now.Sub(changed) < Settled {
		return ""
	}
	return fmt.Sprint(st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano())
}
