package qdisc

import (
	"fmt"
	"time"
)

// Limits of a simulation.
const (
	MaxDuration = 10 * time.Minute // of simulated time
	MaxFlows    = 1024
	MaxPackets  = 100_000 // of all flows
	MaxRing     = 1 << 16
	MaxRate     = 1_000_000_000_000 // bits per second
	LeastMTU    = 68                // RFC 791
	MostMTU     = 65535 - LinkHeader
	maxSizes    = 1024
	maxSamples  = 100_000
	sendBudget  = 64 // net.core.dev_weight, the packets that one bulk takes
)

// LinkHeader is the length of an Ethernet header in bytes, LeastSize that of the smallest packet:
// the header, IPv4, UDP.
const (
	LinkHeader = 14
	LeastSize  = LinkHeader + 20 + 8
)

// Defaults of a [Config].
const (
	DefaultRate = 1_000_000_000
	DefaultMTU  = 1500
	DefaultRing = 1
)

// Flow describes packets of one connection, which arrive in bursts at regular times.
type Flow struct {
	Name string
	// Sizes are the lengths of the packets in bytes, with the Ethernet header; the flow goes
	// through them again and again.
	Sizes []int
	// Start is when the first burst arrives, Interval the time between bursts, Burst the packets of
	// one, Count all packets.
	Start, Interval time.Duration
	Burst, Count    int
	// Priority and Mark are skb->priority and skb->mark.
	Priority, Mark uint32
	// Depart is how long after its arrival a packet may leave at the earliest (skb->tstamp); 0
	// means that it has no such time.
	Depart time.Duration
	// Frame is a frame for all packets, from the Ethernet header on; nil lets [Ops] make one.
	Frame []byte
}

// Config describes what is simulated. Rate, MTU and Ring must be set.
type Config struct {
	// Rate is that of the link, in bits per second.
	Rate uint64
	// MTU is the device's, in bytes without the Ethernet header.
	MTU int
	// Ring is how many packets the device takes before it stops its queue.
	Ring int
	// Bulk is the limit in bytes of what is queued to the device (BQL): up to it, several packets
	// are taken at once. 0 means a driver without such limits, to which the kernel gives one packet
	// at a time.
	Bulk int
	// Duration is the simulated time after which user space deletes the discipline, at the latest.
	Duration time.Duration
	// Events limits the events of the simulation; 0 means [event.DefaultEvents].
	Events int
	// ResetTwice is true for releases that reset a discipline also before they destroy it (before
	// 7.2).
	ResetTwice bool
	// Base is the monotonic time at the start, in nanoseconds.
	Base  uint64
	Flows []Flow
}

// ConfigError means that a simulation cannot be set up as described.
type ConfigError struct{ What string }

// Error says what is wrong.
func (e *ConfigError) Error() string { return "qdisc: " + e.What }

func bad(format string, args ...any) error { return &ConfigError{fmt.Sprintf(format, args...)} }

// Check returns an error for what cannot be simulated, a [*ConfigError].
func Check(c Config) error {
	switch {
	case c.Rate == 0 || c.Rate > MaxRate:
		return bad("a rate of %d bits per second, want 1 to %d", c.Rate, uint64(MaxRate))
	case c.MTU < LeastMTU || c.MTU > MostMTU:
		return bad("an MTU of %d bytes, want %d to %d", c.MTU, LeastMTU, MostMTU)
	case c.Ring < 1 || c.Ring > MaxRing:
		return bad("a ring of %d packets, want 1 to %d", c.Ring, MaxRing)
	case c.Bulk < 0:
		return bad("a limit of %d bytes for the device, want 0 or more", c.Bulk)
	case c.Duration <= 0 || c.Duration > MaxDuration:
		return bad("a duration of %v, want more than 0 and at most %v", c.Duration, MaxDuration)
	case len(c.Flows) > MaxFlows:
		return bad("%d flows, want at most %d", len(c.Flows), MaxFlows)
	}
	names, packets := map[string]bool{}, 0
	for i := range c.Flows {
		f := &c.Flows[i]
		if names[f.Name] {
			return bad("two flows are called %s", f.Name)
		}
		names[f.Name] = true
		if err := f.check(c.MTU); err != nil {
			return err
		}
		if packets += f.Count; packets > MaxPackets {
			return bad("more than %d packets", MaxPackets)
		}
	}
	return nil
}

func (f *Flow) check(mtu int) error {
	switch {
	case f.Count < 1 || f.Count > MaxPackets:
		return bad("flow %s: %d packets, want 1 to %d", f.Name, f.Count, MaxPackets)
	case f.Burst < 1:
		return bad("flow %s: bursts of %d packets, want at least 1", f.Name, f.Burst)
	case f.Start < 0 || f.Interval < 0 || f.Depart < 0:
		return bad("flow %s: a negative time", f.Name)
	case f.Start > MaxDuration || f.Interval > MaxDuration || f.Depart > MaxDuration:
		return bad("flow %s: a time of more than %v", f.Name, MaxDuration)
	case len(f.Sizes) == 0 || len(f.Sizes) > maxSizes:
		return bad("flow %s: %d sizes, want 1 to %d", f.Name, len(f.Sizes), maxSizes)
	}
	for _, n := range f.Sizes {
		if n < LeastSize || n > mtu+LinkHeader {
			return bad("flow %s: a packet of %d bytes, want %d to %d: the MTU of %d and an Ethernet header", f.Name, n, LeastSize, mtu+LinkHeader, mtu)
		}
	}
	return nil
}
