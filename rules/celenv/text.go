package celenv

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	sigsyaml "sigs.k8s.io/yaml"

	"kanon.dev/kanon/rules/readiness"
	"kanon.dev/kanon/rules/yamltree"
)

func toJSONText(args []ref.Val) ref.Val {
	text, err := encodeJSON(args[0], maxText)
	if err != nil {
		return types.NewErr("toJson: %v", err)
	}
	return types.String(text)
}

// encodeJSON writes a value as JSON of at most so many bytes, with sorted keys and without blanks.
func encodeJSON(val ref.Val, most int) (string, error) {
	w := jsonWriter{whole: val, most: most}
	w.encoder = json.NewEncoder(&w.text)
	w.encoder.SetEscapeHTML(false)
	if err := w.value(val); err != nil {
		return "", err
	}
	return w.text.String(), nil
}

// jsonWriter writes a value as JSON without a copy of it. A value may contain another one many times, so a copy can be
// much larger than the value.
type jsonWriter struct {
	// whole is what is written. It is measured once the text is long, so that a text that would be too long ends there.
	whole      ref.Val
	isMeasured bool
	text       bytes.Buffer
	encoder    *json.Encoder
	most       int
}

// longText is the length of a text, in bytes, from which on measuring the value first costs little beside writing it.
const longText = 32 << 10

func (w *jsonWriter) value(val ref.Val) error {
	switch v := val.(type) {
	case *types.Optional:
		if !v.HasValue() {
			return ErrNoValue
		}
		return w.value(v.GetValue())
	case *jsonMap:
		return w.plain(v.fields)
	case *jsonList:
		return w.plain(v.items)
	case traits.Mapper:
		return w.fields(v)
	case traits.Lister:
		return w.items(v)
	}
	r := renderer{left: 1, whole: true}
	plain, err := r.value(val, nil)
	if err != nil {
		return err
	}
	return w.plain(plain)
}

func (w *jsonWriter) plain(val any) error {
	if err := w.encoder.Encode(val); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	w.text.Truncate(w.text.Len() - 1) // the end of the line
	return w.check()
}

func (w *jsonWriter) check() error {
	if !w.isMeasured && w.text.Len() > longText {
		w.isMeasured = true
		if leastText(w.whole, w.most, make(map[ref.Val]int)) > w.most {
			return TooLongError(w.most)
		}
	}
	if w.text.Len() > w.most {
		return TooLongError(w.most)
	}
	return nil
}

// leastText returns a length that the JSON of a value has at least; more than most if it cannot be measured further. known
// has the lengths of maps and lists that were measured, so that one that is contained many times is measured once.
func leastText(val ref.Val, most int, known map[ref.Val]int) int {
	if reflect.TypeOf(val).Kind() != reflect.Pointer {
		return 0
	}
	if length, ok := known[val]; ok {
		return length
	}
	length := 0
	switch v := val.(type) {
	case *types.Optional:
		length = leastText(v.GetValue(), most, known)
	case *jsonMap, *jsonList: // of an object, so that it contains nothing many times
	case traits.Mapper:
		for it := v.Iterator(); length <= most && it.HasNext() == types.True; {
			if item, _ := v.Find(it.Next()); isWritten(item) {
				length += len(`"":`) + leastText(item, most, known)
			}
		}
	case traits.Lister:
		for it := v.Iterator(); length <= most && it.HasNext() == types.True; {
			if item := it.Next(); isWritten(item) {
				length += len(`,`) + leastText(item, most, known)
			}
		}
	}
	known[val] = length
	return length
}

// isWritten reports whether JSON has an item of a map or a list. It has no item without a value.
func isWritten(item ref.Val) bool {
	optional, ok := item.(*types.Optional)
	return !ok || optional.HasValue()
}

func (w *jsonWriter) fields(m traits.Mapper) error {
	fields := make(map[string]ref.Val)
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, err := ToText(key)
		if err != nil {
			return fmt.Errorf("key of a map: %w", err)
		}
		fields[name], _ = m.Find(key)
	}
	w.text.WriteByte('{')
	first := true
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		before := w.text.Len()
		if !first {
			w.text.WriteByte(',')
		}
		if err := w.plain(name); err != nil {
			return err
		}
		w.text.WriteByte(':')
		switch err := w.value(fields[name]); {
		case errors.Is(err, ErrNoValue):
			w.text.Truncate(before)
			continue
		case errors.As(err, new(TooLongError)):
			return err
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
		first = false
	}
	w.text.WriteByte('}')
	return w.check()
}

func (w *jsonWriter) items(l traits.Lister) error {
	w.text.WriteByte('[')
	first, index := true, 0
	for it := l.Iterator(); it.HasNext() == types.True; index++ {
		before := w.text.Len()
		if !first {
			w.text.WriteByte(',')
		}
		switch err := w.value(it.Next()); {
		case errors.Is(err, ErrNoValue):
			w.text.Truncate(before)
			continue
		case errors.As(err, new(TooLongError)):
			return err
		case err != nil:
			return fmt.Errorf("item %d: %w", index, err)
		}
		first = false
	}
	w.text.WriteByte(']')
	return w.check()
}

func fromJSONText(args []ref.Val) ref.Val {
	text, _ := args[0].(types.String)
	var parsed any
	if err := utiljson.Unmarshal([]byte(text), &parsed); err != nil {
		return types.NewErr("fromJson: %v", err)
	}
	return FromJSON(parsed)
}

const (
	// maxYAML is the longest YAML, in bytes, that is read or written. Both take about a microsecond per byte, and cannot
	// be interrupted.
	maxYAML = 256 << 10
	// yamlFactor is how much slower YAML is than JSON.
	yamlFactor = 10
)

func toYAMLText(args []ref.Val) ref.Val {
	text, err := encodeJSON(args[0], maxYAML)
	if err != nil {
		return types.NewErr("toYaml: %v", err)
	}
	out, err := sigsyaml.JSONToYAML([]byte(text))
	if err != nil {
		return types.NewErr("toYaml: %v", err)
	}
	if len(out) > maxYAML {
		return types.NewErr("toYaml: %v", TooLongError(maxYAML))
	}
	return types.String(out)
}

func fromYAMLText(args []ref.Val) ref.Val {
	text, _ := args[0].(types.String)
	val, err := yamltree.Decode(string(text))
	if err != nil {
		return types.NewErr("fromYaml: %v", err)
	}
	return FromJSON(val)
}

func sha256Hex(args []ref.Val) ref.Val {
	var data []byte
	switch v := args[0].(type) {
	case types.String:
		data = []byte(v)
	case types.Bytes:
		data = v
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
		s, _ := arg.(types.String)
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

const (
	// RandomName is the name of the function that returns random text.
	RandomName = "random"
	// RandomSource is the name by which random resolves the *Random from the activation. No expression can contain it.
	RandomSource = "@kanon_random"
	// maxRandom is the longest text that random returns.
	maxRandom = 1024
	// randomLetters are the letters of the text: 62, so that a letter has 5.95 bits.
	randomLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// Random is the source of random text for one evaluation.
type Random struct {
	// Source has the random bytes. If it is nil, the text is a placeholder of asterisks.
	Source io.Reader
}

// random implements random(n).
func random(frame *interpreter.ExecutionFrame, args []ref.Val) ref.Val {
	n, _ := args[0].(types.Int)
	if n < 1 || n > maxRandom {
		return types.NewErr("random: the length must be 1 to %d, and is %d", maxRandom, n)
	}
	val, _ := frame.ResolveName(RandomSource)
	r, ok := val.(*Random)
	if !ok {
		return types.NewErr("random: there is no source here")
	}
	text, err := r.text(int(n))
	if err != nil {
		return types.NewErr("random: %v", err)
	}
	return types.String(text)
}

// text returns n letters, each with the same probability.
func (r *Random) text(n int) (string, error) {
	if r.Source == nil {
		return strings.Repeat("*", n), nil
	}
	// Bytes above the last whole multiple would make some letters more probable.
	const usable = 256 - 256%len(randomLetters)
	out := make([]byte, 0, n)
	buffer := make([]byte, n)
	for len(out) < n {
		if _, err := io.ReadFull(r.Source, buffer); err != nil {
			return "", fmt.Errorf("read random bytes: %w", err)
		}
		for _, b := range buffer {
			if int(b) < usable && len(out) < n {
				out = append(out, randomLetters[int(b)%len(randomLetters)])
			}
		}
	}
	return string(out), nil
}

// maxMerged is how many entries one call of merge or deepMerge may read: far more than objects have, and about a tenth
// of a second.
const maxMerged = 50_000

var errTooManyEntries = fmt.Errorf("more than %d entries", maxMerged)

// merger merges maps within a bound.
type merger struct {
	deep    bool
	entries int
}

func mergeAll(name string, deep bool) func(args []ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		m, out := &merger{deep: deep}, map[string]any{}
		for _, arg := range args {
			from, _ := present(arg).(traits.Mapper)
			if err := m.into(out, from); err != nil {
				return types.NewErr("%s: %v", name, err)
			}
		}
		return Made(out)
	}
}

// withoutTools returns labels or annotations without those by which tools know their own objects: what kubectl applied
// last, what Argo CD, Flux and Helm track and prune, and the marks of Kanon and of Deployments. A copy of them would
// belong to the tool too.
func withoutTools(args []ref.Val) ref.Val {
	out := map[string]any{}
	from, _ := present(args[0]).(traits.Mapper)
	err := EachField(from, func(name string, val any) error {
		if domain, _, _ := strings.Cut(name, "/"); !isToolDomain(domain) && name != "app.kubernetes.io/instance" && name != "app.kubernetes.io/managed-by" {
			out[name] = val
		}
		return nil
	})
	if err != nil {
		return types.NewErr("withoutTools: %v", err)
	}
	return Made(out)
}

// isToolDomain reports whether a tool keeps its marks in labels and annotations of a domain, or of one below it.
func isToolDomain(domain string) bool {
	for _, tool := range []string{
		"kubectl.kubernetes.io", "deployment.kubernetes.io", "argocd.argoproj.io", "toolkit.fluxcd.io", "helm.sh", "config.k8s.io", "kapp.k14s.io", "kanon.dev",
	} {
		if domain == tool || strings.HasSuffix(domain, "."+tool) {
			return true
		}
	}
	return false
}

// mergeCost counts the entries that a call reads.
func mergeCost(deep bool) func(args []ref.Val, _ ref.Val) uint64 {
	return func(args []ref.Val, _ ref.Val) uint64 {
		left := maxMerged
		for _, arg := range args {
			if deep {
				CountParts(arg, &left)
			} else if m, ok := arg.(traits.Mapper); ok {
				size, _ := m.Size().(types.Int)
				left -= int(size)
			}
		}
		return uint64(maxMerged - max(left, 0)) //nolint:gosec // It is not negative.
	}
}

// into adds the entries of a map to out, which must not be shared.
func (m *merger) into(out map[string]any, from traits.Mapper) error {
	return EachField(from, func(name string, val any) error {
		if m.entries++; m.entries > maxMerged {
			return errTooManyEntries
		}
		old, has := out[name]
		if !m.deep || !has {
			out[name] = val
			return nil
		}
		below, isMap := AsMap(val)
		above, wasMap := AsMap(old)
		if !isMap || !wasMap {
			out[name] = val
			return nil
		}
		merged := map[string]any{}
		if err := m.into(merged, above); err != nil {
			return err
		}
		if err := m.into(merged, below); err != nil {
			return err
		}
		out[name] = Made(merged)
		return nil
	})
}

// StatusKindsName is the name by which kstatus and ready resolve the StatusKinds from the activation. No expression can
// contain it.
const StatusKindsName = "@kanon_status_kinds"

// StatusKinds has the kinds whose controllers write a status. An object of such a kind without a status is in progress.
type StatusKinds map[schema.GroupVersionKind]bool

// statusUnits is about the cost of reading the conditions of an object.
const statusUnits = 50

// statusOf returns a function of the kstatus of an object, as dependsOn uses it: NotFound for null.
func statusOf(name string, convert func(status.Status) ref.Val) func(*interpreter.ExecutionFrame, []ref.Val) ref.Val {
	return func(frame *interpreter.ExecutionFrame, args []ref.Val) ref.Val {
		m, ok := present(args[0]).(traits.Mapper)
		if !ok {
			return convert(status.NotFoundStatus)
		}
		plain, _ := JSON(m)
		if plain == nil {
			var err error
			if plain, err = Plain(m, maxYAML); err != nil {
				return types.NewErr("%s: %v", name, err)
			}
		}
		fields, _ := plain.(map[string]any)
		object := &unstructured.Unstructured{Object: fields}
		resolved, _ := frame.ResolveName(StatusKindsName)
		kinds, _ := resolved.(StatusKinds)
		result, err := readiness.Of(object, kinds[object.GroupVersionKind()])
		if err != nil {
			return types.NewErr("%s: %v", name, err)
		}
		return convert(result.Status)
	}
}
