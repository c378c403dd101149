package object

// Hash mixes the seed with strings into 64 well-distributed bits: FNV-1a, then the finalizer of
// splitmix64. A zero byte separates the strings.
func Hash(seed uint64, parts ...string) uint64 {
	h := 0xcbf29ce484222325 ^ Mix(seed)
	for _, s := range parts {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 0x100000001b3
		}
		h = (h ^ 0xff) * 0x100000001b3
	}
	return Mix(h)
}

// Mix is the output function of splitmix64, a bijection.
func Mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
