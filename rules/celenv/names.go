package celenv

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/util/validation"
)

func nameFunctions() []*Function {
	return []*Function{
		{
			name: "sha256",
			signatures: []signature{
				{id: "kanon_sha256_string", args: []*cel.Type{cel.StringType}, result: cel.StringType},
				{id: "kanon_sha256_bytes", args: []*cel.Type{cel.BytesType}, result: cel.StringType},
			},
			declared: Declaration{cost: costReads, result: large},
			call:     sha256Hex,
			cost:     func(args []ref.Val, _ ref.Val) uint64 { return textUnits(args...) },
		},
		{
			name:       "dnsName",
			signatures: anyNumber("dnsName", 1, cel.StringType, cel.StringType),
			declared:   Declaration{cost: costReads, result: large},
			call:       dnsName,
			cost:       func(args []ref.Val, _ ref.Val) uint64 { return 1 + textUnits(args...) },
		},
	}
}

func sha256Hex(args []ref.Val) ref.Val {
	var data []byte
	switch v := args[0].(type) {
	case types.String:
		data = []byte(v)
	case types.Bytes:
		data = v
	default:
		return typeError("sha256", 1, "a string or bytes", args[0])
	}
	sum := sha256.Sum256(data)
	return types.String(hex.EncodeToString(sum[:]))
}

const (
	// maxLabel is the length of a DNS label (RFC 1123).
	maxLabel = 63
	// nameHash is how many characters of a hash a name gets: 100 bits, too many to find a collision by trial.
	nameHash = 20
	// nameJoint separates the arguments, and nameMark precedes the hash. A name without a hash never contains nameMark.
	nameJoint, nameMark = "--", "---"
)

// dnsName makes a DNS-1123 label of texts. Two different lists of texts never have the same label. Labels without "--"
// in them are joined with "--", so that the list can be recovered from the name. Every other list, and one that is too
// long, becomes its letters and digits, "---" and a hash. No name has both forms.
func dnsName(args []ref.Val) ref.Val {
	parts := make([]string, len(args))
	plain := true
	for i, arg := range args {
		s, ok := arg.(types.String)
		if !ok {
			return typeError("dnsName", i+1, "a string; make it one with string(…)", arg)
		}
		parts[i] = string(s)
		plain = plain && isLabel(parts[i]) && !strings.Contains(parts[i], nameJoint)
	}
	if name := strings.Join(parts, nameJoint); plain && len(name) <= maxLabel {
		return types.String(name)
	}
	readable := readableName(parts, maxLabel-len(nameMark)-nameHash)
	return types.String(readable + nameMark + hashOf(parts))
}

// isLabel reports whether a text is a DNS-1123 label.
func isLabel(s string) bool { return len(validation.IsDNS1123Label(s)) == 0 }

// readableName returns the letters, in lower case, and digits of texts, with one dash for everything between them, in
// at most so many characters. It returns "x" if there are none.
func readableName(parts []string, most int) string {
	var b strings.Builder
	for _, part := range parts {
		for word := range strings.FieldsFuncSeq(part, isBetweenWords) {
			if b.Len() > most {
				break
			}
			b.WriteString("-" + word[:min(len(word), most)])
		}
	}
	name := strings.TrimPrefix(b.String(), "-")
	name = strings.TrimRight(name[:min(len(name), most)], "-")
	return cmp.Or(strings.ToLower(name), "x")
}

func isBetweenWords(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// hashOf hashes a list of texts. The length of each text is hashed too, so that ["ab", "c"] and ["a", "bc"] differ.
func hashOf(parts []string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(strconv.Itoa(len(part))))
		h.Write([]byte{':'})
		h.Write([]byte(part))
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)))[:nameHash]
}
