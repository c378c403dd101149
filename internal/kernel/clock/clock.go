// Package clock implements simulated time. Its users decide when it advances.
package clock

import "time"

// Defaults of a clock: the simulated machine was booted an hour ago and was suspended for two
// minutes of it.
const (
	defaultBoot = uint64(time.Hour)
	defaultMono = uint64(58 * time.Minute)
	defaultReal = uint64(1_700_000_000 * time.Second)
	defaultStep = uint64(time.Microsecond)
	defaultHZ   = 250
	// taiOffset is the difference between TAI and UTC since 2017.
	taiOffset = 37 * uint64(time.Second)
	// initialJiffies is the value of jiffies at boot, as 32 bits (include/linux/jiffies.h
	// INITIAL_JIFFIES).
	initialJiffies = ^uint32(300*defaultHZ - 1)
)

// Clock is simulated time. All values are in nanoseconds. It stands still while instructions run
// and advances by Step for each helper call ([Clock.Tick]).
type Clock struct {
	boot, mono, real uint64
	tai              uint64 // how far TAI is ahead of the wall clock
	Step             uint64
	HZ               uint64
}

// Config configures a clock; zero fields mean the defaults: boot 1 h, mono 58 min, real 1700000000
// s, step 1 us, HZ
// 250. If only Boot is set, Mono is equal to it.
type Config struct {
	Boot, Mono, Real, Step, HZ uint64
	// TAI is a reading of CLOCK_TAI at the time that Real was read: a kernel that nobody told of leap
	// seconds has equal clocks. 0 means the 37 seconds since 2017.
	TAI uint64
	// Frozen sets the step to 0.
	Frozen bool
}

func New(c Config) Clock {
	k := Clock{boot: c.Boot, mono: c.Mono, real: c.Real, Step: c.Step, HZ: c.HZ}
	switch {
	case k.boot == 0 && k.mono == 0:
		k.boot, k.mono = defaultBoot, defaultMono
	case k.mono == 0:
		k.mono = k.boot
	case k.boot == 0:
		k.boot = k.mono
	}
	if k.real == 0 {
		k.real = defaultReal
	}
	if k.tai = taiOffset; c.TAI != 0 {
		k.tai = c.TAI - k.real
	}
	if k.Step == 0 && !c.Frozen {
		k.Step = defaultStep
	}
	if k.HZ == 0 {
		k.HZ = defaultHZ
	}
	return k
}

// Boot returns the time since boot including sleep (bpf_ktime_get_boot_ns).
func (c Clock) Boot() uint64 { return c.boot }

// Mono returns the monotonic time (bpf_ktime_get_ns).
func (c Clock) Mono() uint64 { return c.mono }

// Real returns the wall clock as nanoseconds since 1970.
func (c Clock) Real() uint64 { return c.real }

// TAI returns international atomic time (bpf_ktime_get_tai_ns).
func (c Clock) TAI() uint64 { return c.real + c.tai }

// Coarse returns the monotonic time at the last timer tick (bpf_ktime_get_coarse_ns).
func (c Clock) Coarse() uint64 { return c.mono - c.mono%c.tick() }

// Jiffies returns the kernel's 64-bit tick count (bpf_jiffies64): it starts five minutes before its
// low 32 bits wrap, see INITIAL_JIFFIES.
func (c Clock) Jiffies() uint64 { return uint64(initialJiffies) + c.mono/c.tick() }

func (c Clock) tick() uint64 { return max(uint64(time.Second)/max(c.HZ, 1), 1) }

// Tick advances all clocks by one step.
func (c *Clock) Tick() { c.Advance(c.Step) }

// Advance advances all clocks by ns nanoseconds.
func (c *Clock) Advance(ns uint64) {
	c.boot += ns
	c.mono += ns
	c.real += ns
}
