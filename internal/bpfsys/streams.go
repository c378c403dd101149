package bpfsys

import (
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
)

// maxStream is how much of a stream waits to be read (BPF_STREAM_MAX_CAPACITY).
const maxStream = 100_000

// Streams of a program: its output and its errors (enum bpf_stream_id).
const streamOut, streamErr = 1, 2

// streamed keeps what a run wrote to the program's streams until it is read.
func (p *Prog) streamed(res *machine.Result) {
	for id, texts := range res.Streams() {
		if p.streams == nil {
			p.streams = map[uint64][]byte{}
		}
		for _, text := range texts {
			if len(p.streams[id])+len(text) < maxStream {
				p.streams[id] = append(p.streams[id], text...)
			}
		}
	}
}

// streamRead reads what a program wrote to one of its streams (BPF_PROG_STREAM_READ_BY_FD,
// bpf_stream_read): as much as there is, and as the caller has room for.
func (s *System) streamRead(c Caller, a bpfattr.ProgStreamRead) Result {
	p, _, e := fileOf[*Prog](c, a.ProgFd())
	if e != 0 {
		return fail(e)
	}
	id := uint64(a.StreamId())
	if id != streamOut && id != streamErr {
		return fail(uapi.ENOENT)
	}
	waits := p.streams[id]
	n := min(len(waits), int(a.StreamBufLen()))
	if n > 0 && !c.Write(a.StreamBuf(), waits[:n]) {
		return fail(uapi.EFAULT)
	}
	if n > 0 {
		p.streams[id] = waits[n:]
	}
	return Result{Val: int64(n)}
}
