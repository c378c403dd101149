package dap

import (
	"encoding/json"

	"github.com/google/go-dap"
)

// shortMessage bounds the messages that are tried as steps first: longer ones are something else.
const shortMessage = 512

// decodeMessage decodes a message. Requests to continue are most of what a user waits for, and go-dap looks at each message three times to find out what it
// is; their arguments differ little, so that one look is enough.
func decodeMessage(data []byte) (dap.Message, error) {
	if len(data) <= shortMessage {
		if m := decodeStep(data); m != nil {
			return m, nil
		}
	}
	return dap.DecodeProtocolMessage(data)
}

// decodeStep decodes a request to continue. It returns nil for everything else, and for what go-dap refuses.
func decodeStep(data []byte) dap.Message {
	var m dap.StepInRequest // its arguments are all that any of them has
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
