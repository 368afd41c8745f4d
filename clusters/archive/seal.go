package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// digestPrefix is how a digest begins, for people.
const digestPrefix = "sha256:"

const (
	sealBegin = "\x1f\x8b\x08\x10\x00\x00\x00\x00\x00\xff" + "moult " + digestPrefix // a gzip header with a comment
	sealEnd   = "\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00"                       // nothing, compressed, and its checksums
	sealSize  = len(sealBegin) + 2*sha256.Size + len(sealEnd)
)

// sealOf is the last gzip member of a file. It holds nothing, so that tar sees the files before it only. Its bytes are written
// here, and not by compress/gzip, so that they are always the same.
func sealOf(sum []byte) []byte { return []byte(sealBegin + hex.EncodeToString(sum) + sealEnd) }

var errNoSeal = errors.New("its end is not that of a backup: it was cut off, or something was added")

// sealed is the digest that a seal has.
func sealed(seal []byte) (digest string, err error) {
	middle, isSeal := bytes.CutPrefix(seal, []byte(sealBegin))
	middle, ends := bytes.CutSuffix(middle, []byte(sealEnd))
	sum, err := hex.DecodeString(string(middle))
	if !isSeal || !ends || err != nil || len(sum) != sha256.Size || !bytes.Equal(sealOf(sum), seal) {
		return "", errNoSeal
	}
	return digestPrefix + string(middle), nil
}

func digestOf(sum []byte) string { return fmt.Sprintf("%s%x", digestPrefix, sum) }
