//go:build !linux

package record

import (
	"errors"
	"io"
)

func openPipe(string) (io.ReadCloser, error) { return nil, errors.New("only Linux has tracefs") }
