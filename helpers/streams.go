package helpers

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/helpers/printf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Streams are the standard output and error of a program, which user space reads with
// BPF_PROG_STREAM_READ_BY_FD (kernel/bpf/stream.c).
var streamKfuncs = []kfuncRow{
	{Name: "bpf_stream_vprintk", Args: []proto.Arg{argAny, argPtr, argMem, argSize}, Do: streamPrint, Note: "recorded as an event"},
	{Name: "bpf_stream_vprintk_impl", Args: []proto.Arg{argAny, argPtr, argMem, argSize, argAny}, Do: streamPrint, Note: "recorded as an event"},
	{Name: "bpf_stream_print_stack", Args: []proto.Arg{argAny}, Do: streamStack, Note: "recorded as an event; the frames are the program's"},
}

// Numbers of streams (enum bpf_stream_id), and the capacity of a stream that is not read.
const (
	streamOut      = 1
	streamErr      = 2
	streamCapacity = 100_000
)

func isStream(id uint64) bool { return uint32(id) == streamOut || uint32(id) == streamErr }

func streamPrint(c *Call) (uint64, *vm.Action) {
	if !isStream(c.Args[0]) {
		return errnoRet(uapi.ENOENT), nil
	}
	format, f := c.constString(c.Args[1])
	if f != nil {
		return 0, f
	}
	args, errno := printf.Args(c.guest.Order(), c.In(2))
	if errno != 0 {
		return errnoRet(errno), nil
	}
	text, errno := c.print.Print(format, args)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	return c.toStream(c.Args[0], text)
}

// toStream appends text to a stream: -ENOSPC if it is full.
func (c *Call) toStream(id uint64, text string) (uint64, *vm.Action) {
	used := 0
	for _, e := range c.Run.Events {
		if e.Kind == StreamText && e.Number == uint64(uint32(id)) {
			used += len(e.Data)
		}
	}
	if used+len(text) >= streamCapacity {
		return errnoRet(uapi.ENOSPC), nil
	}
	return 0, c.Run.emit(Event{Kind: StreamText, Number: uint64(uint32(id)), Data: []byte(text)})
}

// streamStack writes the program's call stack.
func streamStack(c *Call) (uint64, *vm.Action) {
	if !isStream(c.Args[0]) {
		return errnoRet(uapi.ENOENT), nil
	}
	var b strings.Builder
	pid, _ := c.Kernel.PidTgid()
	uid, _ := c.Kernel.UidGid()
	fmt.Fprintf(&b, "CPU: %d UID: %d PID: %d Comm: %s\nCall trace:\n", c.Thread.CPU, uid, pid, c.Kernel.Comm())
	for _, frame := range c.Thread.Frames() {
		fmt.Fprintf(&b, "%s+%#x\n", frame.Image.Name, frame.PC)
	}
	return c.toStream(c.Args[0], b.String()+"\n")
}
