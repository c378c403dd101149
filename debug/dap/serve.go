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

	"github.com/bpfrun/bpfrun/debug"
	"github.com/bpfrun/bpfrun/debug/repl"
)

// Limits of what waits to be carried out.
const (
	maxWaiting      = 256
	maxWaitingBytes = 8 << 20
)

// request is a message of the client with its text.
type request struct {
	msg dap.RequestMessage
	raw []byte
}

// conn is one client.
type conn struct {
	launcher Launcher
	queue    chan request

	wmu  sync.Mutex // guards out, wbuf, held, late, seq, werr
	out  io.Writer
	wbuf bytes.Buffer
	held bool        // wbuf has a message that waits for the next
	late *time.Timer // writes it if none comes
	seq  int
	werr error

	mu       sync.Mutex         // guards what follows
	waiting  int                // bytes in the queue
	cancel   context.CancelFunc // interrupts what runs, nil when nothing does
	yielding bool               // what runs is interrupted by every request
	pausing  bool               // what runs was interrupted by the user, or the client is gone

	// What follows belongs to the goroutine that carries out requests.
	client    dap.InitializeRequestArguments
	ready     bool // initialize came
	lineBase  int  // what the client calls the first line
	args      *arguments
	s         *debug.Session
	program   string
	r         *repl.REPL
	console   *limited // what the REPL writes
	started   bool     // configurationDone came
	running   bool     // between the request to continue and the stop
	over      bool     // terminated was sent
	done      bool     // the client said goodbye
	last      *debug.Stop
	cpu       int // of the last stop
	printed   int // lines of the run's trace that were shown
	points    points
	handles   []handle
	filterOff bool // faults do not stop
	sources   []string
}

// Serve talks to one client until it disconnects, and ends the session. The error is that of the connection: a *[FrameError] when what came
// was not the protocol, nil when the client left between two messages.
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

// read takes messages off the connection up to its end.
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

// malformed answers what is not a request that is known.
func (c *conn) malformed(data []byte, err error) {
	var head struct {
		Seq     int    `json:"seq"`
		Type    string `json:"type"`
		Command string `json:"command"`
	}
	var field *dap.DecodeProtocolMessageFieldError
	_ = json.Unmarshal(data, &head) // what could be read of it is enough
	switch {
	case head.Type != "request" || head.Seq == 0:
		c.say("important", "bpfrun: ignored a message: %v\n", err)
	case errors.As(err, &field):
		c.fail(&dap.Request{ProtocolMessage: dap.ProtocolMessage{Seq: head.Seq}, Command: head.Command}, fmt.Errorf("request %q is not supported", head.Command))
	default:
		c.fail(&dap.Request{ProtocolMessage: dap.ProtocolMessage{Seq: head.Seq}, Command: head.Command}, fmt.Errorf("malformed request: %w", err))
	}
}

// enqueue makes a request wait for its turn; too many are refused.
func (c *conn) enqueue(req request) {
	c.mu.Lock()
	full := c.waiting+len(req.raw) > maxWaitingBytes || len(c.queue) == cap(c.queue)
	if !full {
		c.waiting += len(req.raw)
	}
	c.mu.Unlock()
	if full { // reading continues, or nothing could be interrupted
		c.fail(req.msg.GetRequest(), errors.New("too many requests are pending: send it again later"))
		return
	}
	c.queue <- req // there is room: nobody else puts requests into the queue
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

// interrupt stops what runs. Other requests than those of the user to stop only interrupt what continues by itself afterwards.
func (c *conn) interrupt(stop bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil && (stop || c.yielding) {
		c.cancel()
	}
	c.pausing = c.pausing || stop && c.cancel != nil
}

// send writes a message. Errors end the session at the next read: the client is gone.
func (c *conn) send(m dap.Message) {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	c.encode(m)
	c.flush()
}

// heldFor is how long a message waits for the next at most.
const heldFor = 10 * time.Millisecond

// sendWithNext writes a message together with the next one, if that comes soon: writing is most of what a short step costs.
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

// flushHeld writes what waits for a next message.
func (c *conn) flushHeld() {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if c.held {
		c.flush()
	}
}

// flush writes what is encoded, in one piece.
func (c *conn) flush() {
	if c.werr == nil && c.wbuf.Len() > 0 {
		_, c.werr = c.out.Write(c.wbuf.Bytes())
	}
	c.wbuf.Reset()
	c.held = false
}

// encode puts a message after those that are held.
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

// answer fills in the head of a response and sends it.
func (c *conn) answer(req dap.RequestMessage, resp dap.ResponseMessage) {
	c.send(answering(req, resp))
}

// answering fills in the head of a response.
func answering(req dap.RequestMessage, resp dap.ResponseMessage) dap.ResponseMessage {
	r := resp.GetResponse()
	r.Success, r.RequestSeq, r.Command = true, req.GetRequest().Seq, req.GetRequest().Command
	return resp
}

// errorID tells clients that the text is complete; the protocol wants some number.
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

// maxOutput limits the text of one event.
const maxOutput = 64 << 10

// say shows the user a text.
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

// limited keeps the first part of what is written.
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

// take returns what was written and forgets it.
func (l *limited) take() string {
	text := string(l.buf)
	if l.more {
		text += "...\n"
	}
	l.buf, l.more = l.buf[:0], false
	return text
}
