package device

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/subsys/hid"
	"github.com/bpfrun/bpfrun/internal/subsys/show"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// HIDDevice is the JSON form of a HID device with what happened to its reports.
type HIDDevice struct {
	// Run is the scenario's run.
	Run     string `json:"run,omitempty"`
	Bus     string `json:"bus"`
	Vendor  string `json:"vendor"`
	Product string `json:"product"`
	Name    string `json:"name"`
	// Probe is what the object's probe program returned in retval, if there is one.
	Probe       *int32            `json:"probe,omitempty"`
	Attached    []string          `json:"attached"`
	NotAttached map[string]string `json:"not_attached,omitempty"`
	// Descriptor is the report descriptor as programs left it, Original as the device has it.
	Original        string      `json:"original_descriptor"`
	Descriptor      string      `json:"descriptor"`
	DescriptorError string      `json:"descriptor_error,omitempty"`
	Reports         []HIDReport `json:"reports"`
	// Input are reports on their way to the input layer, Requests what the device was asked and
	// sent, Answers what user space got.
	Input    []HIDInput   `json:"input"`
	Requests []HIDRequest `json:"requests"`
	Answers  []HIDAnswer  `json:"answers"`
}

// HIDReport is a report that the descriptor declares.
type HIDReport struct {
	Type  string `json:"type"`
	ID    int    `json:"id"`
	Bytes int    `json:"bytes"`
}

// HIDInput is a report before and after the programs; Delivered is absent if it was dropped.
type HIDInput struct {
	Type      string  `json:"type"`
	In        string  `json:"in"`
	Delivered *string `json:"delivered,omitempty"`
	Errno     int32   `json:"errno,omitempty"`
	Dropped   string  `json:"dropped,omitempty"`
	FromBPF   bool    `json:"from_bpf,omitempty"`
}

// HIDRequest is what the device itself was asked for or sent.
type HIDRequest struct {
	Kind    string `json:"kind"`
	Type    string `json:"type"`
	Data    string `json:"data"`
	FromBPF bool   `json:"from_bpf,omitempty"`
}

// HIDAnswer is what a request of user space returned.
type HIDAnswer struct {
	Kind string `json:"kind"`
	Type string `json:"type"`
	Sent string `json:"sent"`
	Ret  int32  `json:"ret"`
	Data string `json:"data,omitempty"`
}

// Document returns the device for a report; run is the scenario's run, or "".
func (h *HID) Document(run string, _ func(error) *show.Error) show.Document {
	out := &HIDDevice{
		Run: run, Bus: busName(h.Bus), Vendor: fmt.Sprintf("%04x", h.Vendor), Product: fmt.Sprintf("%04x", h.Product), Name: h.Name,
		Attached: append([]string{}, h.Attached...), NotAttached: maps.Clone(h.Left), Original: hex.EncodeToString(h.Info.Descriptor), Descriptor: hex.EncodeToString(h.Fixed),
		Reports: []HIDReport{}, Input: []HIDInput{}, Requests: []HIDRequest{}, Answers: []HIDAnswer{},
	}
	if h.Probed {
		ret := h.ProbeReturned
		out.Probe = &ret
	}
	if h.ParseError != nil {
		out.DescriptorError = h.ParseError.Error()
	}
	if h.Parsed != nil {
		for _, r := range h.Parsed.Reports {
			out.Reports = append(out.Reports, HIDReport{r.Type.String(), int(r.ID), r.Len()})
		}
	}
	for _, e := range h.Deliveries {
		in := HIDInput{Type: e.Type.String(), In: hex.EncodeToString(e.In), Errno: e.Errno, Dropped: e.Why, FromBPF: e.BPF}
		if e.Out != nil {
			text := hex.EncodeToString(e.Out)
			in.Delivered = &text
		}
		out.Input = append(out.Input, in)
	}
	for _, r := range h.Device.Requests {
		out.Requests = append(out.Requests, HIDRequest{r.Kind, r.Type.String(), hex.EncodeToString(r.Data), r.BPF})
	}
	for _, a := range h.Answers {
		t := a.Event.Type
		if a.Event.Kind == Output {
			t = hid.OutputReport
		}
		out.Answers = append(out.Answers, HIDAnswer{a.Event.Kind.String(), t.String(), hex.EncodeToString(a.Event.Data), a.Ret, hex.EncodeToString(a.Data)})
	}
	return out
}

// busName names a bus as the kernel's uevents number it.
func busName(bus uint16) string {
	switch bus {
	case hid.BusUSB:
		return "usb"
	case hid.BusBluetooth:
		return "bluetooth"
	case hid.BusVirtual:
		return "virtual"
	case hid.BusI2C:
		return "i2c"
	}
	return fmt.Sprintf("%#04x", bus)
}

// errnoText is a negative error with its name.
func errnoText(n int32) string {
	if n < 0 && n > -4096 {
		return fmt.Sprintf("%d (%s)", n, uapi.Errno(-n).Name())
	}
	return fmt.Sprint(n)
}

// Program implements [show.Document]: programs of a device are listed like others.
func (h *HIDDevice) Program(string) (ran, known bool) { return false, false }

// Page implements [show.Document].
func (h *HIDDevice) Page() func(show.Page) { return nil }

// Text writes a device as a block of lines.
func (h *HIDDevice) Text(t show.Text) {
	line := func(kind, text string) { t.Printf("  %s %s\n", t.Dim(fmt.Sprintf("%-10s", kind)), text) }
	title := fmt.Sprintf("HID device %s %s:%s %s", h.Bus, h.Vendor, h.Product, h.Name)
	if h.Run != "" {
		title += " in " + h.Run
	}
	t.Printf("\n%s\n", t.Bold(title))
	if h.Probe != nil && *h.Probe != 0 {
		line("probe", "refuses the device: "+errnoText(*h.Probe)+"; a loader would not attach the programs")
	}
	if len(h.Attached) > 0 {
		line("attached", strings.Join(h.Attached, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(h.NotAttached)) {
		line("left out", name+": "+h.NotAttached[name])
	}
	text := fmt.Sprintf("%d bytes, unchanged", len(h.Original)/2)
	if h.Descriptor != h.Original {
		text = fmt.Sprintf("%d bytes, %d after the fixup", len(h.Original)/2, len(h.Descriptor)/2)
	}
	var reports []string
	for _, r := range h.Reports {
		reports = append(reports, fmt.Sprintf("%s %d (%d bytes)", r.Type, r.ID, r.Bytes))
	}
	if len(reports) > 0 {
		text += ": " + strings.Join(reports, ", ")
	}
	if h.DescriptorError != "" {
		text += "; the kernel refuses it: " + h.DescriptorError
	}
	line("descriptor", text)
	var lines [][2]string
	for _, e := range h.Input {
		lines = append(lines, [2]string{"input", e.text()})
	}
	for _, r := range h.Requests {
		who := ""
		if r.FromBPF {
			who = ", from a program"
		}
		lines = append(lines, [2]string{"device", fmt.Sprintf("%s %s %s%s", r.Kind, r.Type, show.Spaced(r.Data), who)})
	}
	for _, a := range h.Answers {
		text := fmt.Sprintf("%s %s %s -> %s", a.Kind, a.Type, show.Spaced(a.Sent), errnoText(a.Ret))
		if a.Data != "" {
			text += ": " + show.Spaced(a.Data)
		}
		lines = append(lines, [2]string{"user", text})
	}
	const most = 40
	for i, l := range lines {
		if i == most && !t.All() {
			line("...", fmt.Sprintf("%d more (-v shows all)", len(lines)-most))
			break
		}
		line(l[0], l[1])
	}
}

// text describes an input report.
func (e *HIDInput) text() string {
	text := show.Spaced(e.In)
	if e.FromBPF {
		text += " (from a program)"
	}
	switch {
	case e.Delivered == nil:
		return fmt.Sprintf("%s -> dropped, %s: %s", text, errnoText(e.Errno), e.Dropped)
	case *e.Delivered == e.In:
		return text + " -> delivered"
	}
	return text + " -> " + show.Spaced(*e.Delivered)
}
