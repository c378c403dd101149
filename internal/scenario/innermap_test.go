package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestElementsOfMapsOfMapsAreComparedByContents(t *testing.T) {
	for _, c := range []struct{ expect, want string }{
		{"{1001: {443: 8, 53: 0}}", ""},
		{"{1001: {443: 8, 23: null}}", ""},
		{"{1001: {443: 7}}", "tenants[1001][443]: want 7, got 8"},
		{"{1001: {23: 1}}", "tenants[1001][23]: want an element, got none"},
		{"{1001: !exact {443: 8}}", "tenants[1001][53]: want no such element, got 0"},
		{"{1002: {443: 1}}", "tenants[1002]: want a map, got none"},
		{"{1002: null}", ""},
	} {
		r, err := openText(t, "tenants", `{objects: {alice: {type: task_struct, cred: {uid.val: 1001}}}, maps: {tenants: {1001: {53: 0, 443: 7}}},
			runs: [{prog: check, current: $alice, context: {fields: {user_port: 443}}, expect: {maps: {tenants: `+c.expect+"}}}]}")
		require.NoError(t, err, c.expect)
		results, err := r.All(t.Context(), nil)
		require.NoError(t, err)
		assert.Equal(t, c.want, failures(results[0]), c.expect)
	}
	_, err := openText(t, "tenants", "{maps: {tenants: {1: {443: 7}}}, runs: [{prog: check, expect: {maps: {tenants: {1: {https: 8}}}}}]}")
	assert.ErrorContains(t, err, `key of tenants[1]`)
}
