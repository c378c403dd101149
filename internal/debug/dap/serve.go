package dap

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/google/go-dap"

	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/debug/repl"
)

// Limits on pending requests.
const (
	maxWaiting      = 256
	maxWaitingBytes = 8 << 20
)

// request is a message from the client with its encoded text.
type request struct {
	msg dap.RequestMessage
	raw []byte
}

// conn is the connection to one client.
type conn struct {
	launcher Launcher
	queue    chan request

	wmu  sync.Mutex // guards out, wbuf, held, late, seq, werr
	out  io.Writer
	wbuf bytes.Buffer
	held bool        // wbuf has a message held back for the next one
	late *time.Timer // writes it if no other follows
	seq  int
	werr error

	mu       sync.Mutex         // guards the fields below
	waiting  int                // bytes in the queue
	cancel   context.CancelFunc // interrupts what is running, nil if nothing is
	yielding bool               // every request interrupts what is running
	pausing  bool               // the user interrupted what was running, or the client is gone

	// The fields below belong to the goroutine that executes requests.
	client    dap.InitializeRequestArguments
	ready     bool // initialize was received
	lineBase  int  // the client's number for the first line
	args      *arguments
	s         *debug.Session
	program   string
	r         *repl.REPL
	console   *limited // output of the REPL
	started   bool     // configurationDone came
	running   bool     // between the request to continue and the next stop
	over      bool     // terminated was sent
	done      bool     // the client disconnected
	last      *debug.Stop
	cpu       int // of the last stop
	printed   int // lines of the run's trace already shown
	points    points
	handles   []handle
	filterOff bool // faults do not stop the program
	sources   []string
}

// Serve serves one client until it disconnects, and ends the session. The error is that of the
// connection: a *[FrameError] if the input violates the protocol, nil if the client disconnected
// between two messages.
func (l Launcher) Serve(ctx context.Context, rw io.ReadWriter) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c := &conn{launcher: l, out: rw, queue: make(chan request, maxWaiting), lineBase: 1}
	failed := make(chan error, 1)
	go func() {
		failed <- c.read(bufio.NewReader(rw))
		stop()
		c.interrupt(true)
		close(c.queue)
	}()
	defer c.close()
	for req := range c.queue {
		c.taken(req)
		c.carryOut(ctx, req)
		if c.done {
			return c.writeError()
		}
	}
	err := <-failed
	var frame *FrameError
	if errors.As(err, &frame) && c.writeError() == nil {
		c.say("important", "bpfrun: %v\n", err)
		c.terminated()
	}
	return err
}

func (c *conn) close() {
	if c.s != nil {
		c.s.Close()
		c.s = nil
	}
}

// read reads messages until the connection ends.
func (c *conn) read(r *bufio.Reader) error {
	for {
		data, err := readFrame(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		msg, err := decodeMessage(data)
		if err != nil {
			c.malformed(data, err)
			continue
		}
		req, ok := msg.(dap.RequestMessage)
		if !ok {
			c.say("important", "bpfrun: ignored a message that is not a request\n")
			continue
		}
		c.enqueue(request{req, data})
	}
}

// malformed responds to a malformed or unknown request.
func (c *conn) malformed(data []byte, err error) {
	var head struct {
		Seq     int    `json:"seq"`
		Type    string `json:"type"`
		Command string `json:"command"`
	}
	var field *dap.DecodeProtocolMessageFieldError
	_ = json.Unmarshal(data, &head) // partial data is enough
	switch {
	case head.Type != "request" || head.Seq == 0:
		c.say("important", "bpfrun: ignored a message: %v\n", err)
	case errors.As(err, &field):
		c.fail(&dap.Request{ProtocolMessage: dap.ProtocolMessage{Seq: head.Seq}, Command: head.Command}, fmt.Errorf("request %q is not supported", head.Command))
	default:
		c.fail(&dap.Request{ProtocolMessage: dap.ProtocolMessage{Seq: head.Seq}, Command: head.Command}, fmt.Errorf("malformed request: %w", err))
	}
}

// enqueue queues a request; if too many are pending, it is refused.
func (c *conn) enqueue(req request) {
	c.mu.Lock()
	full := c.waiting+len(req.raw) > maxWaitingBytes || len(c.queue) == cap(c.queue)
	if !full {
		c.waiting += len(req.raw)
	}
	c.mu.Unlock()
	if full { // keep reading, otherwise nothing could be interrupted
		c.fail(req.msg.GetRequest(), errors.New("too many requests are pending: send it again later"))
		return
	}
	c.queue <- req // cannot block: only this goroutine sends to the queue
	switch req.msg.(type) {
	case *dap.PauseRequest, *dap.DisconnectRequest, *dap.TerminateRequest:
		c.interrupt(true)
	default:
		c.interrupt(false)
	}
}

func (c *conn) taken(req request) {
	c.mu.Lock()
	c.waiting -= len(req.raw)
	c.mu.Unlock()
}

// interrupt interrupts what is running. Unless stop is set, it interrupts only what resumes on its
// own afterwards.
func (c *conn) interrupt(stop bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil && (stop || c.yielding) {
		c.cancel()
	}
	c.pausing = c.pausing || stop && c.cancel != nil
}

// send writes a message. A write error ends the session at the next read, since the client is gone.
func (c *conn) send(m dap.Message) {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	c.encode(m)
	c.flush()
}

// heldFor is the longest time a message is held back for the next one.
const heldFor = 10 * time.Millisecond

// sendWithNext writes a message together with the next one, if that follows soon: writing dominates
// the cost of a short step.
func (c *conn) sendWithNext(m dap.Message) {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	c.encode(m)
	c.held = true
	if c.late == nil {
		c.late = time.AfterFunc(heldFor, c.flushHeld)
		return
	}
	c.late.Reset(heldFor)
}

// flushHeld writes a message that was held back.
func (c *conn) flushHeld() {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if c.held {
		c.flush()
	}
}

// flush writes all encoded messages in one call.
func (c *conn) flush() {
	if c.werr == nil && c.wbuf.Len() > 0 {
		_, c.werr = c.out.Write(c.wbuf.Bytes())
	}
	c.wbuf.Reset()
	c.held = false
}

// encode appends a message to those held back.
func (c *conn) encode(m dap.Message) {
	c.seq++
	switch m := m.(type) {
	case dap.ResponseMessage:
		r := m.GetResponse()
		r.Seq, r.Type = c.seq, "response"
	case dap.EventMessage:
		e := m.GetEvent()
		e.Seq, e.Type = c.seq, "event"
	}
	if c.werr != nil {
		return
	}
	text, err := json.Marshal(m)
	if err != nil {
		c.werr = err
		return
	}
	c.wbuf.WriteString("Content-Length: ")
	c.wbuf.Write(strconv.AppendInt(c.wbuf.AvailableBuffer(), int64(len(text)), 10))
	c.wbuf.WriteString("\r\n\r\n")
	c.wbuf.Write(text)
}

func (c *conn) writeError() error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	return c.werr
}

// answer fills in the header of a response and sends it.
func (c *conn) answer(req dap.RequestMessage, resp dap.ResponseMessage) {
	c.send(answering(req, resp))
}

// answering fills in the header of a response.
func answering(req dap.RequestMessage, resp dap.ResponseMessage) dap.ResponseMessage {
	r := resp.GetResponse()
	r.Success, r.RequestSeq, r.Command = true, req.GetRequest().Seq, req.GetRequest().Command
	return resp
}

// errorID is an arbitrary ID, which the protocol requires; the text of errors is complete without
// it.
const errorID = 1

func (c *conn) fail(req *dap.Request, err error) {
	text := err.Error()
	c.send(&dap.ErrorResponse{
		Response: dap.Response{RequestSeq: req.Seq, Command: req.Command, Message: text},
		Body: dap.ErrorResponseBody{Error: &dap.ErrorMessage{Id: errorID, Format: "{text}", Variables: map[string]string{"text": text},
			ShowUser: req.Command == "launch" || req.Command == "restart"}},
	})
}

func event(name string) dap.Event { return dap.Event{Event: name} }

// maxOutput limits the bytes of text in one output event.
const maxOutput = 64 << 10

// say shows a text to the user.
func (c *conn) say(category, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(text) > maxOutput {
		text = text[:maxOutput] + "...\n"
	}
	c.send(&dap.OutputEvent{Event: event("output"), Body: dap.OutputEventBody{Category: category, Output: text}})
}

func (c *conn) terminated() {
	if !c.over {
		c.over = true
		c.send(&dap.TerminatedEvent{Event: event("terminated")})
	}
}

// limited keeps the beginning of what is written, up to a limit.
type limited struct {
	buf  []byte
	more bool
}

func (l *limited) Write(b []byte) (int, error) {
	room := maxOutput - len(l.buf)
	if len(b) > room {
		l.more = true
		l.buf = append(l.buf, b[:max(room, 0)]...)
		return len(b), nil
	}
	l.buf = append(l.buf, b...)
	return len(b), nil
}

// take returns the collected text and clears it.
func (l *limited) take() string {
	text := string(l.buf)
	if l.more {
		text += "...\n"
	}
	l.buf, l.more = l.buf[:0], false
	return text
}
