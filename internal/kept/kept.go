// Package kept keeps what commands found between runs, under keys that say all that it depends on.
// It does not know what that is.
package kept

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/bpfrun/bpfrun/internal/valuehash"
)

// Store keeps entries; Get returns nil for one that is missing or damaged. It is safe for
// concurrent use.
type Store interface {
	Get(key string) []byte
	Put(key string, entry []byte)
}

// Results is a store of one build of the program. A nil one keeps nothing.
type Results struct {
	Store Store
	// Build identifies the program that runs: results of another one may differ.
	Build string
}

// Key returns the key of a result: kind says of what, parts are all that it depends on, fields that
// are not exported included. It is "" if a part has no content to compare, such as a function: then
// the result is not kept.
func (r *Results) Key(kind string, parts ...any) string {
	if r == nil || r.Store == nil || r.Build == "" {
		return ""
	}
	h := valuehash.New(sha256.New())
	h.Add(r.Build)
	h.Add(kind)
	h.Number(uint64(len(parts)))
	for _, p := range parts {
		h.Add(p)
	}
	if h.Err() != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Get reads a result into v, and reports whether there is one.
func (r *Results) Get(key string, v any) bool {
	if key == "" {
		return false
	}
	data := r.Store.Get(key)
	if data == nil {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v) == nil
}

// Put keeps v. The caller gives a second value of its type, empty: what does not read back as it
// was is not kept.
func (r *Results) Put(key string, v, empty any) {
	if key == "" {
		return
	}
	data, err := json.Marshal(v)
	if err != nil || json.Unmarshal(data, empty) != nil {
		return
	}
	if again, err := json.Marshal(empty); err == nil && bytes.Equal(data, again) {
		r.Store.Put(key, data)
	}
}
