package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func percentNow() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}

func TestTheFirstCollectionKeepsWhatACommandAllowed(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "off")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	var usual, search garbage
	usual.start()
	assert.Equal(t, 800, percentNow())
	assert.Eventually(t, func() bool { runtime.GC(); return percentNow() == 100 }, 10*time.Second, time.Millisecond)

	search.start()
	restore := search.allow(fuzzGC)
	collected := make(chan struct{})
	runtime.AddCleanup(new([16]byte), func(struct{}) { close(collected) }, struct{}{})
	for done := false; !done; {
		runtime.GC()
		select {
		case <-collected:
			done = true
		case <-time.After(time.Millisecond):
		}
	}
	assert.Never(t, func() bool { return percentNow() != fuzzGC }, 20*time.Millisecond, time.Millisecond)
	restore()
	assert.Equal(t, 800, percentNow())
}

func TestTheEnvironmentDecidesAboutGarbage(t *testing.T) {
	t.Setenv("GOGC", "50")
	t.Setenv("GOMEMLIMIT", "off")
	before := percentNow()
	var g garbage
	g.start()
	g.allow(fuzzGC)()
	assert.Equal(t, before, percentNow())
}
