package rules

import (
	"strings"
	"testing"
)

// TestChildRead holds that a child counts as read wherever something may depend on its content.
func TestChildRead(t *testing.T) {
	t.Parallel()
	const before = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent: {apiVersion: v1, kind: Pod}
  children:
  - id: a
    SAID
    template: {apiVersion: v1, kind: KIND, metadata: {name: a}}
  - id: b
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {x: "OTHER"}}
`
	for name, tc := range map[string]struct {
		kind, said, other, more string
		want                    bool
	}{
		"nobody asks":              {},
		"a Secret":                 {kind: "Secret"},
		"another reads the parent": {other: "${parent.metadata.name}"},
		"what waits for it":        {said: "dependsOn: [b]"},
		"ready in any case":        {kind: "Service", said: "readyWhen: ${parent.metadata.name != ''}"},
		"its kind can be unready":  {kind: "Service", want: true},
		"readyWhen":                {said: "readyWhen: ${has(self.data)}", want: true},
		"self as a whole":          {said: "readyWhen: ${ready(self)}", want: true},
		"updateWhen":               {said: "updateWhen: ${!has(self.data)}", want: true},
		"recreateWhen":             {said: "recreateWhen: ${has(self.data.failed)}", want: true},
		"another child":            {other: "${children.a.metadata.uid}", want: true},
		"another child, by has":    {other: "${has(children.a.data) ? 'x' : 'y'}", want: true},
		"observed":                 {other: "${observed.a == null ? 'x' : 'y'}", want: true},
		"itself as it was":         {said: "when: ${observed.a == null}", want: true},
		"a macro":                  {other: "${['data'].map(k, children.a[k].x)[0]}", want: true},
		"status":                   {more: "  status: {message: \"${children.a.data.x}\"}\n", want: true},
		"a variable":               {more: "  variables:\n  - {name: v, value: \"${children.a.data.x}\"}\n", want: true},
		"a condition":              {more: "  conditions:\n  - {type: Ok, status: \"${children.a.data.x == 'y'}\", reason: R, message: m}\n", want: true},
		"an event":                 {more: "  events:\n  - {when: \"${children.a.data.x == 'y'}\", type: Normal, reason: R, message: m}\n", want: true},
		"a patch":                  {more: "  patches:\n  - id: p\n    template: {metadata: {labels: {x: \"${children.a.data.x}\"}}}\n", want: true},
		"deleteWhen":               {more: "  deleteWhen: ${children.a.data.x == 'y'}\n", want: true},
		"requeueAfter":             {more: "  requeueAfter: ${children.a.data.x}\n", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.kind == "" {
				tc.kind = "ConfigMap"
			}
			text := strings.NewReplacer("SAID", tc.said, "KIND", tc.kind, "OTHER", tc.other).Replace(before) + tc.more
			if got := mustCompile(t, text).Children[0].Read; got != tc.want {
				t.Errorf("read: %t, want %t", got, tc.want)
			}
		})
	}
}
