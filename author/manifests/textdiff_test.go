package manifests_test

import (
	"testing"

	"kanon.dev/kanon/author/manifests"
)

func TestUnified(t *testing.T) {
	t.Parallel()
	got := manifests.UnifiedDiff("a", []byte("one\ntwo\n"), "b", []byte("one\nthree\n"))
	if want := "--- a\n+++ b\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// A line that is not the only one of its kind stays where it is, too: else a list seems to change more than it does.
	got = manifests.UnifiedDiff("a", []byte("- name: a\n  protocol: TCP\n- name: b\n  protocol: TCP\n"),
		"b", []byte("- name: x\n  protocol: TCP\n- name: y\n  protocol: TCP\n"))
	if want := "--- a\n+++ b\n@@ -1,4 +1,4 @@\n-- name: a\n+- name: x\n   protocol: TCP\n-- name: b\n+- name: y\n   protocol: TCP\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := manifests.UnifiedDiff("a", []byte("one\n"), "b", []byte("one\n")); got != "" {
		t.Errorf("%q for texts that are the same", got)
	}
	if got, want := manifests.ColoredDiff("-a\n+b\n c\n"), "\x1b[31m-a\x1b[0m\n\x1b[32m+b\x1b[0m\n c\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
