package wire

import (
	"testing"
	"unsafe"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	const start, end = `{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"`, `\"}":{}}},"f:spec":{}}`
	for _, text := range []string{
		start + "0b5c" + end, start + end, start, `{"k:{\"uid\":\"a`, start + "a" + end + start + "b" + end, `{}`, ``,
		`{"k:{\"uid\":\"a \\\" b\"}":{}}`, `{"k:{\"name\":\"a\",\"uid\":\"b\"}":{}}`,
	} {
		if got := pathsOf(text).text(); got != text {
			t.Errorf("%s comes back as %s", text, got)
		}
	}
	text := start + "0b5c" + end
	first, second := pathsOf(text), pathsOf(start+"0c7d"+end)
	if unsafe.StringData(first.before) != unsafe.StringData(second.before) || unsafe.StringData(first.after) != unsafe.StringData(second.after) {
		t.Error("children of two parents have paths of their own")
	}
	for _, part := range []string{first.before, first.uid, first.after} {
		if within(part, text) {
			t.Errorf("%s is kept as a part of the whole text", part)
		}
	}
}
