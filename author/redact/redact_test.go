package redact_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/redact"
)

func values() redact.Values {
	v := redact.Values{}
	v.Note(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"data":       map[string]any{"token": "dG9wc2VjcmV0", "broken": "%", "empty": ""},
		"stringData": map[string]any{"pin": "1234", "long": "topsecret-and-more"},
	}})
	v.Note(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"shown": "anybody"}}})
	v.Note(nil)
	return v
}

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"topsecret":                      "(hidden)",
		"https://topsecret@db":           "https://(hidden)@db",
		"dG9wc2VjcmV0":                   "(hidden)",
		"x topsecret-and-more x":         "x (hidden) x",
		"1234":                           "(hidden)",
		"port 1234":                      "port 1234",
		"anybody":                        "anybody",
		"":                               "",
		"topsecret and again: topsecret": "(hidden) and again: (hidden)",
	} {
		if got := values().Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	object := map[string]any{
		"apiVersion": "v1", "kind": "topsecret",
		"metadata": map[string]any{"name": "1234", "namespace": "topsecret", "labels": map[string]any{"a": "1234"}},
		"spec":     []any{"1234", int64(1234), map[string]any{"url": "topsecret:1"}},
	}
	want := map[string]any{
		"apiVersion": "v1", "kind": "topsecret",
		"metadata": map[string]any{"name": "1234", "namespace": "topsecret", "labels": map[string]any{"a": "(hidden)"}},
		"spec":     []any{"(hidden)", int64(1234), map[string]any{"url": "(hidden):1"}},
	}
	if diff := cmp.Diff(want, values().Object(object)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(object, redact.Values{}.Object(object)); diff != "" {
		t.Error(diff)
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	before := map[string]any{"a": "topsecret", "b": "x:topsecret", "c": "topsecret", "d": []any{"1234", "y"}, "e": map[string]any{"f": "1234"}, "g": "1234"}
	after := map[string]any{"a": "topsecret", "b": "x:topsecret-and-more", "c": "other", "d": []any{"topsecret", "y"}, "e": map[string]any{"f": "1234"}}
	was, is := values().Objects(before, after)
	if diff := cmp.Diff(map[string]any{
		"a": "(hidden)", "b": "x:(hidden, before)", "c": "(hidden)", "d": []any{"(hidden, before)", "y"}, "e": map[string]any{"f": "(hidden)"}, "g": "(hidden)",
	}, was); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{
		"a": "(hidden)", "b": "x:(hidden, after)", "c": "other", "d": []any{"(hidden, after)", "y"}, "e": map[string]any{"f": "(hidden)"},
	}, is); diff != "" {
		t.Error(diff)
	}
	if nothing, created := values().Objects(nil, map[string]any{"a": "topsecret"}); nothing != nil || created["a"] != redact.Hidden {
		t.Errorf("%v, %v", nothing, created)
	}
}

// What rules and messages compute from a value is hidden, too.
func TestForms(t *testing.T) {
	t.Parallel()
	const value = "top\"secret/&\n-----BEGIN SOMETHING-----\n"
	v := redact.Values{}
	v.Note(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"key": value, "pin": "1234"}}})
	for name, text := range map[string]string{
		"base64":                 base64.StdEncoding.EncodeToString([]byte(value)),
		"base64 of URLs":         base64.URLEncoding.EncodeToString([]byte(value)),
		"base64 without padding": base64.RawStdEncoding.EncodeToString([]byte(value)),
		"JSON":                   `{"key":"top\"secret/&\n-----BEGIN SOMETHING-----\n"}`,
		"JSON of Go":             `{"key":"top\"secret/\u0026\n-----BEGIN SOMETHING-----\n"}`,
		"quoted":                 fmt.Sprintf("Invalid value: %q", value),
		"a query":                "https://db?key=" + url.QueryEscape(value),
		"a path":                 "https://db/" + url.PathEscape(value),
		"YAML":                   "key: |\n  x\n  -----BEGIN SOMETHING-----\n",
	} {
		got := v.Text(text)
		if !strings.Contains(got, redact.Hidden) || strings.Contains(got, "BEGIN") || strings.Contains(got, "c2Vjc") {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, user := range []string{"", "a", "ab", "abc", "admin:"} {
		encoded := base64.StdEncoding.EncodeToString([]byte(user + value))
		got := v.Text(encoded)
		rest := strings.Replace(got, redact.Hidden, "", 1)
		if len(rest) > len(user)*4/3+8 {
			t.Errorf("%s after %q: %s", encoded, user, got)
		}
	}
	for _, text := range []string{"pin 1234", "top"} {
		if got := v.Text(text); got != text {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// In what a change removes or replaces, a value is hidden; what stays is shown.
func TestReplaced(t *testing.T) {
	t.Parallel()
	before := map[string]any{
		"kind": "topsecret", "metadata": map[string]any{"name": "topsecret"},
		"same": "topsecret", "changed": "x:topsecret", "removed": "1234", "other": "old", "number": int64(1234),
		"list": []any{"topsecret", "1234", "shown"}, "below": map[string]any{"same": "1234", "gone": "topsecret"},
	}
	after := map[string]any{
		"same": "topsecret", "changed": "x:other", "other": "new", "list": []any{"shown", "topsecret"}, "below": map[string]any{"same": "1234"},
	}
	want := map[string]any{
		"kind": "topsecret", "metadata": map[string]any{"name": "topsecret"},
		"same": "topsecret", "changed": "x:(hidden)", "removed": "(hidden)", "other": "old", "number": int64(1234),
		"list": []any{"topsecret", "(hidden)", "shown"}, "below": map[string]any{"same": "1234", "gone": "(hidden)"},
	}
	if diff := cmp.Diff(want, values().Replaced(before, after)); diff != "" {
		t.Error(diff)
	}
	want["changed"], want["other"] = "(hidden)", "(hidden)"
	if diff := cmp.Diff(want, redact.Values(nil).Replaced(before, after)); diff != "" {
		t.Error(diff)
	}
	if got := values().Replaced(before, nil); got["same"] != "(hidden)" || got["other"] != "old" {
		t.Error(got)
	}
}
