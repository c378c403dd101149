package packet

import "slices"

// nearest returns up to three of names that look like name, nearest first; all of them when there are few and none does.
func nearest(name string, names []string) []string {
	const few = 12
	limit := max(1, len(name)/2)
	distance := map[string]int{}
	var near []string
	for _, n := range names {
		if d := editDistance(name, n); d <= limit {
			distance[n] = d
			near = append(near, n)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return distance[a] - distance[b] })
	if len(near) == 0 && len(names) <= few {
		return names
	}
	return near[:min(len(near), 3)]
}

// editDistance is the number of letters to change, insert or remove. Names are short: what is longer is not near.
func editDistance(a, b string) int {
	const longest = 24
	if len(a) > longest || len(b) > longest {
		return longest
	}
	var row [longest + 1]int
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0]++
		for j := range len(b) {
			d := corner
			if a[i] != b[j] {
				d++
			}
			corner = row[j+1]
			row[j+1] = min(d, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
