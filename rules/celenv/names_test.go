package celenv

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Two lists of arguments never give one name, and every name is a label.
func TestDNSNameTellsApart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 70)
	lists := [][]string{
		{"a-b"},
		{"a", "b"},
		{"a--b"},
		{"a---b"},
		{"a", "", "b"},
		{"a-", "b"},
		{"a", "-b"},
		{"A", "b"},
		{"a", "B"},
		{"a b"},
		{"a_b"},
		{"a", "b", ""},
		{"", "a", "b"},
		{""},
		{"", ""},
		{"x"},
		{"☃"},
		{"☄"},
		{long},
		{long + "a"},
		{long, "a"},
		{strings.Repeat("a", 63)},
		{strings.Repeat("a", 62), "b"},
		{strings.Repeat("a", 30), strings.Repeat("a", 31)},
		{strings.Repeat("a", 30), strings.Repeat("a", 32)},
		{"1"},
		{"1", "1"},
		{"11"},
		{"a.b"},
		{"a/b"},
		{"a:b"},
		{"1:a"},
		{"-"},
		{"--"},
		{"---"},
		{"a-"},
		{"-a"},
	}
	// What a name that was made looks like, given again.
	for _, l := range slicesOf(lists) {
		lists = append(lists, []string{nameOf(t, l)})
	}
	seen := map[string]string{}
	for _, l := range lists {
		name, key := nameOf(t, l), fmt.Sprintf("%q", l)
		if !isLabel(name) {
			t.Errorf("dnsName(%q) is %q, which is no label", l, name)
		}
		if other, twice := seen[name]; twice && other != key {
			t.Errorf("dnsName gives %q for %s and for %s", name, other, key)
		}
		seen[name] = key
	}
}

func slicesOf(lists [][]string) [][]string {
	var several [][]string
	for _, l := range lists {
		if len(l) > 1 || !isLabel(l[0]) || strings.Contains(l[0], nameJoint) {
			several = append(several, l)
		}
	}
	return several
}

func nameOf(t *testing.T, parts []string) string {
	t.Helper()
	args := make([]ref.Val, len(parts))
	for i, p := range parts {
		args[i] = types.String(p)
	}
	name, ok := dnsName(args).(types.String)
	if !ok {
		t.Fatalf("dnsName(%q) is no string", parts)
	}
	return string(name)
}
