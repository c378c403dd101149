package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestProgressCountsLongWorkAndLeavesNothing(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, "tests", 0, time.Millisecond, time.Millisecond)
	p.expect(7)
	p.add(3)
	time.Sleep(50 * time.Millisecond)
	p.end()
	p.end()
	text := out.String()
	assert.Contains(t, text, "\r\x1b[K3 of 7 tests")
	assert.True(t, strings.HasSuffix(text, "\r\x1b[K"), "%q", text)
}

func TestProgressOfShortWorkIsSilent(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, "tests", 2, time.Hour, time.Millisecond)
	p.add(2)
	p.end()
	assert.Empty(t, out.String())
	c := &console{stderr: &out}
	p = c.progress("tests", 2) // no terminal
	assert.Nil(t, p)
	p.add(1)
	p.expect(1)
	p.end()
	assert.Empty(t, out.String())
}
