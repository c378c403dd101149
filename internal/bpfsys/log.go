package bpfsys

import (
	"fmt"
	"strconv"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

func utoa(n uint64) string { return strconv.FormatUint(n, 10) }

// userLog is the log of BPF_PROG_LOAD and BPF_BTF_LOAD (kernel/bpf/log.c).
type userLog struct {
	logArgs
	c     Caller
	text  []byte
	head  []byte // the start of the log, for buffers that keep the start
	total int
	most  int  // of total, before the log was emptied
	ended bool // the verifier wrote its last line
}

// logArgs are the attributes of a command about its log.
type logArgs struct {
	level, size uint32
	buf         uint64
	// putTrueSize stores how long the log was; nil if the caller's attributes have no room for
	// that.
	putTrueSize func(uint32) bool
}

// Bits of the log level (BPF_LOG_*).
const (
	logLevel = 1 | 2
	logStats = 4
	logFixed = 8
)

// maxLog limits the number of bytes kept for a buffer.
const maxLog = 64 << 20

// newLog reads and checks the log's attributes (bpf_verifier_log_attr_valid).
func newLog(c Caller, args logArgs, rules *since.Set) (*userLog, uapi.Errno) {
	l := &userLog{logArgs: args, c: c}
	mask := uint32(logLevel | logStats)
	if rules.Has(since.LogRotates) {
		mask |= logFixed
		switch {
		case l.buf != 0 && l.size == 0, l.buf == 0 && l.size != 0, l.buf != 0 && l.level == 0, l.level&^mask != 0, l.size > 1<<30-1:
			return nil, uapi.EINVAL
		}
		return l, 0
	}
	if l.level != 0 || l.buf != 0 || l.size != 0 {
		if l.size < 128 || l.size > 1<<30-1 || l.level == 0 || l.buf == 0 || l.level&^mask != 0 {
			return nil, uapi.EINVAL
		}
	}
	return l, 0
}

func (l *userLog) printf(format string, args ...any) {
	if l.level != 0 {
		_, _ = fmt.Fprintf(l, format, args...)
	}
}

// Write implements io.Writer. It keeps as much of the log's start and end as fits into the caller's
// buffer.
func (l *userLog) Write(p []byte) (int, error) {
	l.total += len(p)
	keep := min(int(l.size), maxLog)
	if n := keep - len(l.head); n > 0 {
		l.head = append(l.head, p[:min(n, len(p))]...)
	}
	l.text = append(l.text, p...)
	if len(l.text) > 2*keep+4096 {
		l.text = append(l.text[:0], l.text[len(l.text)-keep:]...)
	}
	return len(p), nil
}

// empty drops the text so far (bpf_vlog_reset). A caller's buffer must have had room for it
// nevertheless.
func (l *userLog) empty() {
	l.most = max(l.most, l.total)
	l.total, l.text, l.head = 0, nil, nil
}

// finish writes the log to the caller's buffer (bpf_vlog_finalize). If it does not fit, finish
// writes its end, or its start before 6.4 and with BPF_LOG_FIXED, and returns ENOSPC.
func (l *userLog) finish(rules *since.Set) uapi.Errno {
	rotating := rules.Has(since.LogRotates) && l.level&logFixed == 0
	most := max(l.most, l.total)
	full := most + 1
	if l.level == 0 {
		full = 0
	}
	if rules.Has(since.LogRotates) && l.putTrueSize != nil && !l.putTrueSize(uint32(full)) {
		return uapi.EFAULT
	}
	if l.level == 0 || l.buf == 0 {
		return 0
	}
	room := int(l.size) - 1
	text := l.head
	if l.total > room {
		text = text[:min(room, len(text))]
		if rotating {
			text = l.text[max(0, len(l.text)-room):]
		}
	}
	if !l.c.Write(l.buf, append(append([]byte(nil), text...), 0)) {
		return uapi.EFAULT
	}
	if most > room {
		return uapi.ENOSPC
	}
	return 0
}
