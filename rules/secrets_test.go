package rules

import (
	"fmt"
	"strings"
	"testing"

	"kanon.dev/kanon/rules/program"
)

// secretReader has one Secret, of which the values must not get into messages.
func secretReader(t *testing.T) *testReader {
	t.Helper()
	return &testReader{objects: parse(t, `
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: team-a}
data: {text: SHVudGVyMiAvIEh1bnRlcjI=, number: NDcxMS41, broken: Hunter2%}
stringData: {list: '["Hunter2"', Hunter2: Hunter2}
`)}
}

// What is in a Secret does not get into a message, wherever an evaluation fails.
func TestSecretsAreNotTold(t *testing.T) {
	t.Parallel()
	const read = "string(lookups.s.data.text)"
	tests := map[string]string{
		"a number":                   `  status: {a: "${int(string(lookups.s.data.text))}"}`,
		"a time":                     `  status: {a: "${timestamp(string(lookups.s.data.text))}"}`,
		"a duration":                 `  status: {a: "${duration(string(lookups.s.data.text))}"}`,
		"JSON":                       `  status: {a: "${fromJson(string(lookups.s.data.text)).x}"}`,
		"YAML":                       `  status: {b: "${fromYaml(string(lookups.s.data.text) + ': *' + string(lookups.s.data.text))}"}`,
		"a quantity":                 `  status: {a: "${quantity(string(lookups.s.data.text)).isInteger()}"}`,
		"a regular expression":       `  status: {a: "${'x'.matches('(' + string(lookups.s.data.text))}"}`,
		"a URL":                      `  status: {a: "${url(string(lookups.s.data.text)).getHost()}"}`,
		"an IP":                      `  status: {a: "${ip(string(lookups.s.data.text)).family()}"}`,
		"a schedule":                 `  status: {a: "${cron(string(lookups.s.data.text), 'UTC').next(now)}"}`,
		"base64":                     `  status: {a: "${string(base64.decode(string(lookups.s.data.text) + '%'))}"}`,
		"no base64":                  `  status: {a: "${string(lookups.s.data.broken)}"}`,
		"a fraction in text":         `  status: {a: "x ${double(string(lookups.s.data.number))}"}`,
		"a key of a map":             `  status: {a: "${parent.spec[string(lookups.s.data.text)]}"}`,
		"a key of a text":            `  status: {a: "${parent.metadata.name[string(lookups.s.data.text)]}"}`,
		"a key that is made":         `  status: {a: {"${string(lookups.s.data.text)}": "${parent.spec.nothing}"}}`,
		"two keys that are made":     `  variables: [{name: v, value: {"${string(lookups.s.data.text)}": 1, "${string(lookups.s.data.text) + ''}": 2}}]` + "\n" + `  status: {a: "${variables.v}"}`,
		"a name of a lookup":         `  status: {a: "${lookups.name}"}`,
		"a namespace of a lookup":    `  status: {a: "${lookups.namespace}"}`,
		"a lookup that is not there": `  status: {a: "${lookups.missing}"}`,
		"a lookup of an item":        `  status: {a: "${lookups.items}"}`,
		"a selector":                 `  status: {a: "${lookups.labels}"}`,
		"a field of a selector":      `  status: {a: "${lookups.operator}"}`,
		"a status of a condition":    `  conditions: [{type: A, status: "${string(lookups.s.data.text)}"}]`,
		"a reason of a condition":    `  conditions: [{type: A, status: "True", reason: "${string(lookups.s.data.text)}"}]`,
		"a reason of an event":       `  events: [{type: Normal, reason: "${string(lookups.s.data.text)}", message: x}]`,
		"a pause":                    `  requeueAfter: "${string(lookups.s.data.text)}"`,
		"an index":                   `  status: {a: "${[1][int(string(lookups.s.data.number).split('.')[0])]}"}`,
		"in a child":                 `  children: [{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: "${string(int(` + read + `))}"}}}]`,
		"in a forEach": `  children: [{id: a, forEach: [{name: i, in: "${dyn(string(lookups.s.data.text))}"}], ` +
			`template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${i}"}}}]`,
	}
	const lookups = `  lookups:
  - {id: s, apiVersion: v1, kind: Secret, name: s}
  - {id: name, apiVersion: v1, kind: ConfigMap, name: "${string(lookups.s.data.text)}"}
  - {id: namespace, apiVersion: v1, kind: ConfigMap, name: x, namespace: "${string(lookups.s.data.text)}"}
  - {id: missing, apiVersion: v1, kind: ConfigMap, name: "${string(lookups.s.data.text).split(' ')[0]}"}
  - {id: items, forEach: [{name: i, in: "${string(lookups.s.data.text).split(' ')}"}], apiVersion: v1, kind: ConfigMap, name: "x${i.replace('/', '')}"}
  - {id: labels, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {a: "${string(lookups.s.data.text)}"}}}
  - {id: operator, apiVersion: v1, kind: ConfigMap, selector: {matchExpressions: [{key: a, operator: "${string(lookups.s.data.text)}"}]}}
`
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := compileWithin(t, lookups+body, program.Limits{})
			ev := p.Evaluate(t.Context(), program.Input{Parent: parse(t, webApp)[0], Reader: secretReader(t)})
			for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
				t.Errorf("rendered: %+v", batch)
			}
			out := ev.Result()
			var said []string
			for _, n := range out.Nodes {
				said = append(said, n.Path+": "+n.Text())
			}
			for _, f := range out.StatusFailed {
				said = append(said, f.Path+": "+f.Text())
			}
			said = append(said, out.StatusWaiting...)
			if len(said) == 0 {
				t.Fatalf("nothing failed: %+v", out)
			}
			t.Logf("%q", said)
			for _, secret := range []string{"Hunter2", "'H'", "4711", "hunter2"} {
				if text := fmt.Sprint(said); strings.Contains(text, secret) {
					t.Errorf("%s: %s", secret, text)
				}
			}
		})
	}
}
