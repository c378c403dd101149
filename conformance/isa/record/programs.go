package record

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"encoding/binary"

	"github.com/bpfrun/bpfrun/conformance/isa"
	"github.com/bpfrun/bpfrun/conformance/isa/generate"
	"github.com/bpfrun/bpfrun/decode"
)

// Config configures [Programs].
type Config struct {
	Seed, First, Count uint64
	Generate           generate.Config // Kernel is always set
}

// Report contains the counts of a recording.
type Report struct {
	Recorded, Rejected, Runs uint64
	Reasons                  map[string]uint64
}

// Summary returns the figures in one line.
func (r *Report) Summary() string {
	return fmt.Sprintf("%d programs recorded, %d runs, %d programs refused by the kernel", r.Recorded, r.Runs, r.Rejected)
}

// Programs runs generated programs on the running kernel and writes one vector per line, in the
// form that [isa.Judge] reads. It leaves out programs that the kernel refuses.
func Programs(ctx context.Context, cfg Config, w io.Writer) (*Report, error) {
	k, err := Open()
	if err != nil {
		return nil, err
	}
	defer k.Close()
	cfg.Generate.Kernel = true
	gen := generate.New(cfg.Seed, cfg.Generate)
	r := &Report{Reasons: map[string]uint64{}}
	enc := json.NewEncoder(w)
	for i := range cfg.Count {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		line, err := recordCase(k, gen.Case(cfg.First+i))
		var rejected *isa.Rejected
		if errors.As(err, &rejected) {
			r.Rejected++
			r.Reasons[rejected.Why]++
			continue
		}
		if err != nil {
			return r, err
		}
		if err := enc.Encode(line); err != nil {
			return r, err
		}
		r.Recorded++
		r.Runs += uint64(len(line.Runs))
	}
	return r, nil
}

func recordCase(k *Kernel, c *generate.Case) (*isa.Line, error) {
	if err := k.Load(&isa.Program{Name: c.Name(), Insns: c.Insns, Packet: c.Packet}); err != nil {
		return nil, err
	}
	line := &isa.Line{
		ID: c.Name(), Cat: c.Cat, Form: c.Form, T: "sched_cls",
		P: hex.EncodeToString(decode.Marshal(c.Insns, binary.LittleEndian)), Pkt: hex.EncodeToString(c.Packet),
	}
	for i := range c.Inputs {
		in := isa.Value(c.Inputs[i])
		o := k.Run(&in)
		if o.Fault != "" {
			return nil, fmt.Errorf("%s run %d: %s", c.Name(), i, o.Text)
		}
		line.Runs = append(line.Runs, isa.Run{In: in.String(), Out: o.Value.String(), Ret: uint32(o.Ret)})
	}
	return line, nil
}
