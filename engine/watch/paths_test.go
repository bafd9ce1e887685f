package watch

import (
	"runtime"
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
	first := pathsOf(text)
	before, after := unsafe.StringData(first.before.Value()), unsafe.StringData(first.after.Value())
	runtime.GC() // what comes later shares them too
	second := pathsOf(start + "0c7d" + end)
	if before != unsafe.StringData(second.before.Value()) || after != unsafe.StringData(second.after.Value()) {
		t.Error("children of two parents have paths of their own")
	}
	for _, part := range []string{first.before.Value(), first.uid, first.after.Value()} {
		if within(part, text) {
			t.Errorf("%s is kept as a part of the whole text", part)
		}
	}
}

// within reports whether a text is a part of the memory of another.
func within(part, whole string) bool {
	start, at := uintptr(unsafe.Pointer(unsafe.StringData(whole))), uintptr(unsafe.Pointer(unsafe.StringData(part)))
	return part != "" && at >= start && at < start+uintptr(len(whole))
}
