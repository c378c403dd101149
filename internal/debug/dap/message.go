package dap

import (
	"encoding/json"

	"github.com/google/go-dap"
)

// shortMessage is the size in bytes up to which messages are first tried as steps; steps are never
// longer.
const shortMessage = 512

// decodeMessage decodes a message. Requests to continue dominate the time a user waits, and go-dap
// parses each message three times to find its type; their arguments are so similar that parsing
// once is enough.
func decodeMessage(data []byte) (dap.Message, error) {
	if len(data) <= shortMessage {
		if m := decodeStep(data); m != nil {
			return m, nil
		}
	}
	return dap.DecodeProtocolMessage(data)
}

// decodeStep decodes a request to continue. It returns nil for all other messages, and for those
// that go-dap refuses.
func decodeStep(data []byte) dap.Message {
	var m dap.StepInRequest // its arguments include those of all the others
	if err := json.Unmarshal(data, &m); err != nil || m.Type != "request" {
		return nil
	}
	a := &m.Arguments
	switch m.Command {
	case "next":
		return &dap.NextRequest{Request: m.Request, Arguments: dap.NextArguments{ThreadId: a.ThreadId, SingleThread: a.SingleThread, Granularity: a.Granularity}}
	case "stepIn":
		return &m
	case "stepOut":
		return &dap.StepOutRequest{Request: m.Request, Arguments: dap.StepOutArguments{ThreadId: a.ThreadId, SingleThread: a.SingleThread, Granularity: a.Granularity}}
	case "stepBack":
		return &dap.StepBackRequest{Request: m.Request, Arguments: dap.StepBackArguments{ThreadId: a.ThreadId, SingleThread: a.SingleThread, Granularity: a.Granularity}}
	case "continue":
		return &dap.ContinueRequest{Request: m.Request, Arguments: dap.ContinueArguments{ThreadId: a.ThreadId, SingleThread: a.SingleThread}}
	case "reverseContinue":
		return &dap.ReverseContinueRequest{Request: m.Request, Arguments: dap.ReverseContinueArguments{ThreadId: a.ThreadId, SingleThread: a.SingleThread}}
	}
	return nil
}
