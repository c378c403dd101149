package helpers

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Event is a recorded effect outside the program.
type Event struct {
	Kind   EventKind
	Number uint64 // meaning depends on the kind
	Detail string
	Data   []byte
}

// Output is the visible output of a run: lines of the trace pipe, effects, text of iterators. It
// owns them, and accounts for their size with its Host.
type Output struct {
	Trace  []string
	Events []Event
	Text   []byte // output of iterators, from bpf_seq_write and bpf_seq_printf
	// SeqStart is where in Text the buffer of the current read begins; SeqFull means that something
	// did not fit into the buffer.
	SeqStart int
	SeqFull  bool

	// Host accounts for what the run keeps; nil is unlimited.
	Host *mem.Host
	// OnLimit is called if Host has no room for output.
	OnLimit func(error)

	kept   uint64 // of Host
	target int    // position of the redirect in Events, from 1
}

// keeps accounts for a trace line or an effect of n bytes.
func (o *Output) keeps(n int) *vm.Action {
	if o.Host == nil {
		return nil
	}
	cost := mem.HostCost(n)
	if err := o.Host.Take(cost); err != nil {
		return notSimulated(err.Error())
	}
	o.kept += cost
	return nil
}

// Release releases what the run reserved at its Host, when its trace lines and effects are no
// longer needed.
func (o *Output) Release() {
	if o.Host != nil {
		o.Host.Give(o.kept)
	}
	o.kept = 0
}

func (o *Output) emit(e Event) *vm.Action {
	if f := o.keeps(len(e.Data) + len(e.Detail)); f != nil {
		return f
	}
	o.Events = append(o.Events, e)
	return nil
}

// redirect records the target of the next verdict; a later call replaces it.
func (o *Output) redirect(ev Event) {
	if o.target > 0 {
		o.Events = append(o.Events[:o.target-1], o.Events[o.target:]...)
	}
	o.Events = append(o.Events, ev)
	o.target = len(o.Events)
}

// forget drops the target, because a redirect failed.
func (o *Output) forget() {
	if o.target > 0 {
		o.Events = append(o.Events[:o.target-1], o.Events[o.target:]...)
		o.target = 0
	}
}

// seqBuffer is the size of an iterator's buffer: eight pages (kernel/bpf/bpf_iter.c bpf_seq_read).
const seqBuffer = 8 * 4096

// seqPut writes to the sequential file of an iterator. If the text does not fit, the buffer
// overflows for the rest of the read (fs/seq_file.c).
func (o *Output) seqPut(data []byte) uapi.Errno {
	if o.SeqFull || len(o.Text)-o.SeqStart+len(data) >= seqBuffer {
		o.SeqFull = true
		return uapi.EOVERFLOW
	}
	if o.Host != nil {
		cost := 4 * uint64(len(data))
		if err := o.Host.Take(cost); err != nil {
			o.OnLimit(err)
			return uapi.EOVERFLOW
		}
		o.kept += cost
	}
	o.Text = append(o.Text, data...)
	return 0
}

func (o *Output) reset() {
	o.Release()
	o.SeqStart, o.SeqFull, o.target = 0, false, 0
	o.Trace, o.Text, o.Events = o.Trace[:0], o.Text[:0], o.Events[:0]
}

// clone returns a copy that changes independently.
func (o *Output) clone() Output {
	c := *o
	c.Trace, c.Text, c.Events = slices.Clone(o.Trace), slices.Clone(o.Text), slices.Clone(o.Events)
	return c
}
