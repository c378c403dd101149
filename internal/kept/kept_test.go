package kept

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

type memory map[string][]byte

func (m memory) Get(key string) []byte        { return m[key] }
func (m memory) Put(key string, entry []byte) { m[key] = entry }

type document struct {
	Text  string
	Parts []int
	Any   any `json:",omitempty"`
}

func TestResultsAreKept(t *testing.T) {
	m := memory{}
	r := &Results{Store: m, Build: "one"}
	key := r.Key("kind", "part", 7)
	var got document
	assert.False(t, r.Get(key, &got))
	r.Put(key, &document{Text: "a", Parts: []int{1}}, &document{})
	assert.True(t, r.Get(key, &got))
	assert.Equal(t, document{Text: "a", Parts: []int{1}}, got)
	m[key] = []byte(`{"Text": "b", "Other": 1}`)
	assert.False(t, r.Get(key, &document{}), "of another form")
	m[key] = m[key][:5]
	assert.False(t, r.Get(key, &document{}), "cut off")
}

type once struct{ n int }

func (o *once) MarshalJSON() ([]byte, error) { return json.Marshal(o.n) }

func (o *once) UnmarshalJSON([]byte) error { o.n = 1; return nil }

func TestWhatDoesNotReadBackIsNotKept(t *testing.T) {
	m := memory{}
	r := &Results{Store: m, Build: "one"}
	r.Put("a", &once{2}, &once{})
	r.Put("b", &document{Any: func() {}}, &document{})
	assert.Empty(t, m)
	r.Put("c", &once{1}, &once{})
	assert.Len(t, m, 1)
}

func TestKeysDiffer(t *testing.T) {
	m := memory{}
	r := &Results{Store: m, Build: "one"}
	type private struct{ a int }
	seen := map[string]string{}
	for name, key := range map[string]string{
		"plain":   r.Key("kind", "a", "b"),
		"kind":    r.Key("other", "a", "b"),
		"build":   (&Results{Store: m, Build: "two"}).Key("kind", "a", "b"),
		"joined":  r.Key("kind", "ab"),
		"fewer":   r.Key("kind", "a"),
		"moved":   r.Key("kind", "", "ab"),
		"private": r.Key("kind", private{1}, "b"), "private, other": r.Key("kind", private{2}, "b"),
	} {
		assert.NotEmpty(t, key, name)
		assert.Empty(t, seen[key], "%s has the key of another", name)
		seen[key] = name
	}
	assert.Equal(t, r.Key("kind", "a", "b"), r.Key("kind", "a", "b"))
	assert.Empty(t, r.Key("kind", func() {}))
	assert.Empty(t, (*Results)(nil).Key("kind"))
	assert.Empty(t, (&Results{Store: m}).Key("kind"), "a build that is not known")
	assert.False(t, (*Results)(nil).Get("", nil))
	(*Results)(nil).Put("", nil, nil)
}
