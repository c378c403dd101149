package helpers

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"errors"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Symmetric ciphers (kernel/bpf/crypto.c, crypto/bpf_crypto_skcipher.c): blocks one by one (ecb) or
// chained (cbc).
var cryptoKfuncs = []kfuncRow{
	{Name: "bpf_crypto_ctx_create", Wide: true, Args: []proto.Arg{argMem, argSize, argInt}, Do: cryptoCreate, Note: "type skcipher with ecb or cbc of aes, des and des3_ede; a kernel's other ciphers are refused by name when it is called"},
	{Name: "bpf_crypto_ctx_acquire", Wide: true, Args: []proto.Arg{argObject}, Do: acquire},
	{Name: "bpf_crypto_ctx_release", Args: []proto.Arg{argObject}, Do: releaseObject},
	{Name: "bpf_crypto_encrypt", Args: []proto.Arg{argObject, argDynptr, argDynptr, argDynptr}, Do: cryptoCrypt(encryptBlocks)},
	{Name: "bpf_crypto_decrypt", Args: []proto.Arg{argObject, argDynptr, argDynptr, argDynptr}, Do: cryptoCrypt(decryptBlocks)},
}

// ciphers make the ciphers of the kernel that Go has too, by the name in the crypto API. The error
// is about the key's length.
var ciphers = map[string]func(key []byte) (cipher.Block, error){
	"aes": aes.NewCipher, "des": des.NewCipher, "des3_ede": des.NewTripleDESCipher,
}

// otherCiphers are what a kernel can use with ecb and cbc besides.
var otherCiphers = []string{"anubis", "arc4", "aria", "blowfish", "camellia", "cast5", "cast6", "fcrypt", "khazad", "seed", "serpent", "sm4", "tea", "twofish", "xeta", "xtea"}

// cryptoParams is struct bpf_crypto_params.
type cryptoParams struct {
	typ, algo string
	key       []byte
	reserved  [2]byte
	keyLen    uint32
	authSize  uint32
}

// Offsets in struct bpf_crypto_params, which every kernel that has it shares.
const (
	paramsReserved = 14
	paramsAlgo     = 16
	paramsKey      = 144
	paramsKeyLen   = 400
	paramsAuth     = 404
	paramsSize     = 408
)

func (c *Call) cryptoParams(b []byte) cryptoParams {
	text := func(b []byte) string {
		s, _, _ := bytes.Cut(b, []byte{0})
		return string(s)
	}
	return cryptoParams{
		typ: text(b[:paramsReserved]), reserved: [2]byte(b[paramsReserved:]), algo: text(b[paramsAlgo:paramsKey]), key: b[paramsKey:paramsKeyLen],
		keyLen: c.guest.Order().Uint32(b[paramsKeyLen:]), authSize: c.guest.Order().Uint32(b[paramsAuth:]),
	}
}

// cryptoMode splits "cbc(aes)" into mode and cipher; ok is false for other algorithms.
func cryptoMode(algo string) (mode, name string, ok bool) {
	mode, name, ok = strings.Cut(algo, "(")
	name, closed := strings.CutSuffix(name, ")")
	return mode, name, ok && closed && (mode == "ecb" || mode == "cbc")
}

// cryptoCreate makes a context, whose tfm points to a copy of the parameters: that is all its
// state.
func cryptoCreate(c *Call) (uint64, *vm.Action) {
	fail := func(errno uapi.Errno) (uint64, *vm.Action) {
		return 0, c.guest.WriteU32(c.Args[2], uint32(errnoRet(errno)))
	}
	b := c.In(0)
	if len(b) != paramsSize {
		return fail(uapi.EINVAL)
	}
	p := c.cryptoParams(b)
	mode, name, ok := cryptoMode(p.algo)
	switch {
	case p.reserved != [2]byte{}:
		return fail(uapi.EINVAL)
	case p.typ != "skcipher":
		return fail(uapi.ENOENT)
	case !ok:
		return fail(uapi.EOPNOTSUPP)
	case slices.Contains(otherCiphers, name):
		return 0, notSimulated("bpf_crypto_ctx_create: the cipher " + p.algo)
	}
	newCipher := ciphers[name]
	switch {
	case newCipher == nil, p.authSize != 0: // skcipher authenticates nothing
		return fail(uapi.EOPNOTSUPP)
	case p.keyLen == 0 || int(p.keyLen) > len(p.key):
		return fail(uapi.EINVAL)
	}
	block, err := newCipher(p.key[:p.keyLen])
	if err != nil {
		return fail(uapi.EINVAL)
	}
	o, err := c.newCryptoContext(b, cryptoIV(mode, block))
	if err != nil {
		return 0, notSimulated("bpf_crypto_ctx_create: " + err.Error())
	}
	if f := c.guest.WriteU32(c.Args[2], 0); f != nil {
		return 0, f
	}
	return c.take(o, "bpf_crypto_ctx")
}

// cryptoIV returns the length of the initialisation vector; there is no other state.
func cryptoIV(mode string, b cipher.Block) int {
	if mode == "cbc" {
		return b.BlockSize()
	}
	return 0
}

func (c *Call) newCryptoContext(params []byte, iv int) (*object.Object, error) {
	tfm, err := c.Kernel.NewBytes("parameters of a crypto context", params)
	if err != nil {
		return nil, err
	}
	o, err := c.Kernel.NewObjectNamed("crypto context", "bpf_crypto_ctx")
	if err != nil {
		return nil, err
	}
	return o, errors.Join(o.SetUint("tfm", tfm.Addr()), o.SetUint("siv_len", uint64(iv)), o.SetUint("usage.refs.counter", 1))
}

// cipherOf returns the cipher of a context.
func (c *Call) cipherOf(addr uint64) (cipher.Block, int, *vm.Action) {
	o := c.Kernel.ObjectAt(addr)
	if o == nil || o.TypeName() != "bpf_crypto_ctx" {
		return nil, 0, badArg("%#x is no bpf_crypto_ctx", addr)
	}
	b, f := c.guest.Read(o.Num("tfm"), paramsSize)
	if f != nil {
		return nil, 0, f
	}
	p := c.cryptoParams(b)
	mode, name, _ := cryptoMode(p.algo)
	newCipher := ciphers[name]
	if newCipher == nil || int64(p.keyLen) > int64(len(p.key)) {
		return nil, 0, badArg("the bpf_crypto_ctx at %#x was not made by bpf_crypto_ctx_create", addr)
	}
	block, err := newCipher(p.key[:p.keyLen])
	if err != nil {
		return nil, 0, badArg("the bpf_crypto_ctx at %#x: %v", addr, err)
	}
	return block, cryptoIV(mode, block), nil
}

// cryptoCrypt is bpf_crypto_crypt: whole blocks are processed, and -EINVAL if bytes remain. The
// vector is then that for the next bytes.
func cryptoCrypt(blocks func(b cipher.Block, dst, src, iv []byte)) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		block, ivLen, f := c.cipherOf(c.Args[0])
		if f != nil {
			return 0, f
		}
		var d [3]dynptr // source, destination, vector
		for i := range d {
			if c.Args[1+i] == 0 && i == 2 { // the vector may be NULL
				continue
			}
			if d[i], f = c.dynptrAt(c.Args[1+i]); f != nil {
				return 0, f
			}
		}
		src, dst, iv := d[0], d[1], d[2]
		if dst.rdonly || src.size == 0 || dst.size == 0 || src.size > dst.size || int(iv.size) != ivLen || iv.rdonly {
			return errnoRet(uapi.EINVAL), nil
		}
		var at [3]uint64
		for i := range d {
			if d[i].size == 0 {
				continue
			}
			if at[i], f = c.dynptrPointer(d[i], 0, uint64(d[i].size)); f != nil || at[i] == 0 {
				return errnoRet(uapi.EINVAL), f
			}
		}
		in, f := c.guest.Read(at[0], uint64(src.size))
		if f != nil {
			return 0, f
		}
		in = slices.Clone(in) // the next Read reuses the buffer
		var vector []byte
		if ivLen > 0 {
			if vector, f = c.guest.Read(at[2], uint64(ivLen)); f != nil {
				return 0, f
			}
		}
		whole := len(in) - len(in)%block.BlockSize()
		out := make([]byte, whole)
		blocks(block, out, in[:whole], vector)
		if f = c.guest.Write(at[1], out); f == nil && ivLen > 0 {
			f = c.guest.Write(at[2], vector)
		}
		if whole < len(in) {
			return errnoRet(uapi.EINVAL), f
		}
		return 0, f
	}
}

// encryptBlocks and decryptBlocks process whole blocks, chained by the vector iv unless that is
// empty, and store the next vector in it.
func encryptBlocks(b cipher.Block, dst, src, iv []byte) {
	for n := b.BlockSize(); len(src) > 0; src, dst = src[n:], dst[n:] {
		if len(iv) == 0 {
			b.Encrypt(dst, src)
			continue
		}
		for i := range iv {
			iv[i] ^= src[i]
		}
		b.Encrypt(dst, iv)
		copy(iv, dst)
	}
}

func decryptBlocks(b cipher.Block, dst, src, iv []byte) {
	for n := b.BlockSize(); len(src) > 0; src, dst = src[n:], dst[n:] {
		b.Decrypt(dst, src)
		for i := range iv {
			dst[i] ^= iv[i]
		}
		copy(iv, src)
	}
}
