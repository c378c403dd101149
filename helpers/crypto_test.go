package helpers

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// cryptoArgs writes a struct bpf_crypto_params.
func (r *rig) cryptoArgs(typ, algo string, key []byte) []byte {
	b := make([]byte, paramsSize)
	copy(b, typ)
	copy(b[paramsAlgo:], algo)
	copy(b[paramsKey:], key)
	r.mem.ByteOrder().PutUint32(b[paramsKeyLen:], uint32(len(key)))
	return b
}

// TestCryptoParams: the offsets are those of the target's struct.
func TestCryptoParams(t *testing.T) {
	r := newRig(t, linux72)
	o, err := r.kernel.NewObjectNamed("params", "bpf_crypto_params")
	require.NoError(t, err)
	for field, off := range map[string]uint64{"reserved": paramsReserved, "algo": paramsAlgo, "key": paramsKey, "key_len": paramsKeyLen, "authsize": paramsAuth} {
		at, err := o.FieldAddr(field)
		require.NoError(t, err)
		assert.Equal(t, off, at-o.Addr(), field)
	}
	assert.EqualValues(t, paramsSize, o.Size())
}

// TestCryptoCreate: what bpf_crypto_ctx_create refuses, in its order.
func TestCryptoCreate(t *testing.T) {
	r := newRig(t, linux72)
	key := make([]byte, 16)
	change := func(b []byte, at int, v byte) []byte { b[at] = v; return b }
	for _, tt := range []struct {
		name   string
		params []byte
		want   uapi.Errno
	}{
		{"one byte less", r.cryptoArgs("skcipher", "ecb(aes)", key)[:paramsSize-1], uapi.EINVAL},
		{"one byte more", append(r.cryptoArgs("skcipher", "ecb(aes)", key), 0), uapi.EINVAL},
		{"reserved", change(r.cryptoArgs("skcipher", "ecb(aes)", key), paramsReserved+1, 1), uapi.EINVAL},
		{"another type", r.cryptoArgs("aead", "ecb(aes)", key), uapi.ENOENT},
		{"another mode", r.cryptoArgs("skcipher", "ctr(aes)", key), uapi.EOPNOTSUPP},
		{"no mode", r.cryptoArgs("skcipher", "aes", key), uapi.EOPNOTSUPP},
		{"not closed", r.cryptoArgs("skcipher", "ecb(aes", key), uapi.EOPNOTSUPP},
		{"no cipher", r.cryptoArgs("skcipher", "ecb(none)", key), uapi.EOPNOTSUPP},
		{"authentication", change(r.cryptoArgs("skcipher", "ecb(aes)", key), paramsAuth, 8), uapi.EOPNOTSUPP},
		{"no key", r.cryptoArgs("skcipher", "ecb(aes)", nil), uapi.EINVAL},
		{"a key longer than its room", change(r.cryptoArgs("skcipher", "ecb(aes)", key), paramsKeyLen+1, 2), uapi.EINVAL},
		{"a key of 15 bytes", r.cryptoArgs("skcipher", "ecb(aes)", key[:15]), uapi.EINVAL},
		{"a key of 16 bytes", r.cryptoArgs("skcipher", "ecb(aes)", key), 0},
		{"des", r.cryptoArgs("skcipher", "cbc(des)", key[:8]), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code := r.alloc([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
			ctx := r.kok("bpf_crypto_ctx_create", r.alloc(tt.params), uint64(len(tt.params)), code)
			assert.Equal(t, tt.want == 0, ctx != 0)
			assert.Equal(t, uint32(neg(tt.want)), r.u32(code))
			if ctx != 0 {
				assert.Equal(t, ctx, r.kok("bpf_crypto_ctx_acquire", ctx))
				r.kok("bpf_crypto_ctx_release", ctx)
				r.kok("bpf_crypto_ctx_release", ctx)
				_, f := r.kfunc("bpf_crypto_ctx_release", ctx)
				assert.NotNil(t, f, "a third time")
			}
		})
	}
	_, f := r.kfunc("bpf_crypto_ctx_create", r.alloc(r.cryptoArgs("skcipher", "cbc(camellia)", key)), paramsSize, r.space(8))
	require.NotNil(t, f)
	assert.Equal(t, vm.NotSimulated, f.Kind, "a cipher that kernels have is refused by name")
}

// TestCrypt: vectors of NIST SP 800-38A (F.1, F.2) and FIPS 46-3, the lengths at their borders, and
// the vector for what follows.
func TestCrypt(t *testing.T) {
	r := newRig(t, linux72)
	bin := func(s string) []byte {
		b, err := hex.DecodeString(s)
		require.NoError(t, err)
		return b
	}
	const (
		key   = "2b7e151628aed2a6abf7158809cf4f3c"
		iv    = "000102030405060708090a0b0c0d0e0f"
		plain = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
	)
	for _, tt := range []struct{ algo, key, iv, plain, crypted string }{
		{"ecb(aes)", key, "", plain, "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf"},
		{"cbc(aes)", key, iv, plain, "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"},
		{"ecb(des)", "133457799bbcdff1", "", "0123456789abcdef", "85e813540f0ab405"},
	} {
		t.Run(tt.algo, func(t *testing.T) {
			code := r.space(8)
			params := r.alloc(r.cryptoArgs("skcipher", tt.algo, bin(tt.key)))
			ctx := r.kok("bpf_crypto_ctx_create", params, paramsSize, code)
			require.NotZero(t, ctx)
			dynptr := func(b []byte) (data, at uint64) {
				data, at = r.alloc(append(b, 0)), r.space(16)
				require.Zero(t, r.ok(uapi.FuncDynptrFromMem, data, uint64(len(b)), 0, at))
				return data, at
			}
			crypt := func(fn string, in []byte, room int) (out, vector []byte, ret uint64) {
				_, src := dynptr(in)
				to, dst := dynptr(make([]byte, room))
				vec, siv := dynptr(bin(tt.iv))
				if tt.iv == "" {
					siv = 0
				}
				ret = r.kok(fn, ctx, src, dst, siv)
				return r.bytes(to, room), r.bytes(vec, len(tt.iv)/2), ret
			}
			text, crypted := bin(tt.plain), bin(tt.crypted)
			n := len(text)
			out, vector, ret := crypt("bpf_crypto_encrypt", text, n)
			assert.Zero(t, ret)
			assert.Equal(t, crypted, out)
			assert.Equal(t, crypted[n-len(vector):], vector, "the vector for the next bytes")
			out, vector, ret = crypt("bpf_crypto_decrypt", crypted, n+1)
			assert.Zero(t, ret)
			assert.Equal(t, append(text, 0), out)
			assert.Equal(t, crypted[n-len(vector):], vector)

			out, _, ret = crypt("bpf_crypto_encrypt", text[:n-1], n)
			block := 16
			if n == 8 {
				block = 8
			}
			assert.Equal(t, short(uapi.EINVAL), ret, "no whole block")
			assert.Equal(t, crypted[:n-block], out[:n-block], "whole blocks are done")
			assert.Equal(t, make([]byte, block), out[n-block:])
			for name, size := range map[string][2]int{"no input": {0, n}, "no output": {n, 0}, "output too short": {n, n - 1}} {
				_, _, ret = crypt("bpf_crypto_encrypt", text[:size[0]], size[1])
				assert.Equal(t, short(uapi.EINVAL), ret, name)
			}
			_, src := dynptr(text)
			_, dst := dynptr(make([]byte, n))
			_, siv := dynptr(make([]byte, 5))
			assert.Equal(t, short(uapi.EINVAL), r.kok("bpf_crypto_encrypt", ctx, src, dst, siv), "a vector of another length")
			_, f := r.kfunc("bpf_crypto_encrypt", src, src, dst, siv)
			assert.NotNil(t, f, "no context")
		})
	}
}
