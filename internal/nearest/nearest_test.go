package nearest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDistanceCountsEdits(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"pid", "pid", 0}, {"pid", "pids", 1}, {"pid", "tid", 1}, {"kitten", "sitting", 3},
		{strings.Repeat("a", 100), strings.Repeat("a", 64) + "b", 0},
	} {
		assert.Equal(t, tt.want, Distance(tt.a, tt.b), "%s %s", tt.a, tt.b)
		assert.Equal(t, tt.want, Distance(tt.b, tt.a), "%s %s", tt.b, tt.a)
	}
}

// TestDistanceWithinALimit compares the search of near places with the whole table.
func TestDistanceWithinALimit(t *testing.T) {
	table := func(a, b string) int {
		rows := make([][]int, len(a)+1)
		for i := range rows {
			rows[i] = make([]int, len(b)+1)
			for j := range rows[i] {
				switch {
				case i == 0 || j == 0:
					rows[i][j] = i + j
				case a[i-1] == b[j-1]:
					rows[i][j] = rows[i-1][j-1]
				default:
					rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
				}
			}
		}
		return rows[len(a)][len(b)]
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		a := make([]byte, r.IntN(12))
		for i := range a {
			a[i] = 'a' + byte(r.IntN(3))
		}
		b := slices.Clone(a)
		for range r.IntN(5) {
			if i := r.IntN(len(b) + 1); r.IntN(2) == 0 {
				b = slices.Insert(b, i, 'a'+byte(r.IntN(3)))
			} else if i < len(b) {
				b = slices.Delete(b, i, i+1)
			}
		}
		limit := r.IntN(6)
		want, got := table(string(a), string(b)), within(string(a), string(b), limit)
		if want <= limit {
			require.Equal(t, want, got, "%s %s, limit %d", a, b, limit)
		} else {
			require.Greater(t, got, limit, "%s %s, limit %d", a, b, limit)
		}
	}
}

func TestNamesOffersTheNearestFirst(t *testing.T) {
	names := []string{"", "pid", "tgid", "pids", "pid", "real_parent", "parent", "comm"}
	assert.Equal(t, []string{"pid", "pids"}, Names("pidd", names, 2))
	assert.Equal(t, []string{"parent", "real_parent"}, Names("paren", names, 2), "what contains it counts as two edits")
	assert.Empty(t, Names("x", names, 0))
}

func TestIndexAnswersAsNames(t *testing.T) {
	long := strings.Repeat("x", 70)
	all := []string{"vfs_read", "vfs_readv", "vfs_reada", "__vfs_read", "ksys_read", "read", "vfs_write", "vfs_read", "", long + "a", long + "b", "blk_account_io_done"}
	var x Index
	for _, n := range all {
		x.Add(n)
	}
	for _, tt := range []struct {
		name  string
		limit int
		want  []string
	}{
		{"vfs_rear", 1, []string{"vfs_read"}},
		{"vfs_rea", 2, []string{"vfs_read", "vfs_reada", "vfs_readv"}}, // of equally near ones the shortest, then by name
		{"vfs_read", 0, []string{"vfs_read"}},
		{"read", 2, []string{"read", "vfs_read", "ksys_read"}}, // contained: two edits
		{long + "c", 1, []string{long + "a", long + "b"}},
		{"nothing_like_it", 3, nil},
	} {
		assert.Equal(t, tt.want, x.Near(tt.name, tt.limit), tt.name)
		if names := Names(tt.name, all, tt.limit); assert.Len(t, names, len(tt.want)) && len(names) > 0 {
			assert.Equal(t, tt.want[0], names[0], "both break ties their own way")
		}
	}
	assert.Equal(t, []string{"blk_account_io_done"}, x.Prefixed("blk_account_io_", "blk_account_io_start"))
	assert.Empty(t, x.Prefixed("blk_mq_", "blk_mq_start"))
}

// TestIndexFindsWhatNoFilterLoses compares the search by letters with one that looks at every name.
func TestIndexFindsWhatNoFilterLoses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	random := func() string {
		n := r.IntN(12)
		if r.IntN(20) == 0 {
			n = longest - 4 + r.IntN(8)
		}
		b := make([]byte, n)
		for i := range b {
			b[i] = "abcdefgh_ABC"[r.IntN(12)] // A and a differ by 32, so they are different letters modulo 64
		}
		return string(b)
	}
	var all []string
	var x Index
	for range 3000 {
		n := random()
		all = append(all, n)
		x.Add(n)
	}
	found := 0
	for range 600 {
		name, limit := random(), r.IntN(4)
		if r.IntN(2) == 0 { // a part of a name, or an edited one
			n := all[r.IntN(len(all))]
			name = n[r.IntN(len(n)+1):] + "_"[:r.IntN(2)]
		}
		var near []candidate
		for _, n := range all {
			near = appendNear(near, name, n, limit)
		}
		slices.SortFunc(near, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(a.distance, b.distance), byLength(name, a.name, b.name))
		})
		near = slices.Compact(near)
		var want []string
		for _, c := range near[:min(len(near), offered)] {
			want = append(want, c.name)
		}
		found += len(want)
		require.Equal(t, want, x.Near(name, limit), "%q, limit %d", name, limit)
		prefix := name[:min(len(name), 2)]
		var begin []string
		for _, n := range all {
			if strings.HasPrefix(n, prefix) {
				begin = append(begin, n)
			}
		}
		slices.SortFunc(begin, func(a, b string) int { return byLength(name, a, b) })
		begin = slices.Compact(begin)
		require.Equal(t, begin[:min(len(begin), offered)], x.Prefixed(prefix, name), "%q", prefix)
	}
	assert.Greater(t, found, 600)
}
