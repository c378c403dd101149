package main

import (
	"bytes"
	"debug/pe"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The library is one that Go's own reader takes, and its export is the code.
func TestLibraryIsWhole(t *testing.T) {
	data := library()
	f, err := pe.NewFile(bytes.NewReader(data))
	require.NoError(t, err)
	assert.Equal(t, uint16(pe.IMAGE_FILE_MACHINE_AMD64), f.Machine)
	h, ok := f.OptionalHeader.(*pe.OptionalHeader64)
	require.True(t, ok)
	exports := h.DataDirectory[0]
	text, err := f.Section(".text").Data()
	require.NoError(t, err)
	assert.Equal(t, processPrng, text[:len(processPrng)])
	at := exports.VirtualAddress - sectionAt
	assert.Contains(t, string(text[at:at+exports.Size]), "ProcessPrng\x00bcryptprimitives.dll\x00")
	assert.Len(t, data, headersSize+sectionSize)
}
