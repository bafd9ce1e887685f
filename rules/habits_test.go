package rules

import (
	"os"
	"strings"
	"testing"

	"kanon.dev/kanon/rules/diagnostic"
)

// habit is one text that an author of other languages and engines writes, in testdata/habits.txt:
//
//	# JavaScript                         whose habit it is
//	- ${parent.spec.tags.length}         what is written: a value of the data of a ConfigMap
//	? size(                              what the finding must say, one line for each text
//	+ ${string(size(parent.spec.tags))}  what an author writes who obeys it
//
// With lines that begin with a space, these lines with those that begin with - or + are fields of spec instead.
type habit struct {
	of, wrong, right string
	told             []string
	line             int // of the text in the rule
}

const habitHead = `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent: {apiVersion: shop.example.com/v1, kind: Shop}
`

const habitData = habitHead + `  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: config}
      data:
        k: `

// habitKind is the kind of the parents of testdata/habits.txt.
const habitKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {kind: Shop, plural: shops, singular: shop}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [name, replicas, tags, active, memory, ports, labels]
            properties:
              name: {type: string}
              image: {type: string}
              replicas: {type: integer}
              tags: {type: array, items: {type: string}}
              active: {type: boolean}
              memory: {type: string}
              labels: {type: object, additionalProperties: {type: string}}
              ports: {type: array, items: {type: object, required: [name, port], properties: {name: {type: string}, port: {type: integer}}}}
          status: {type: object, properties: {url: {type: string}}}
`

func readHabits(t *testing.T) []habit {
	t.Helper()
	data, err := os.ReadFile("testdata/habits.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []habit
	of := ""
	for block := range strings.SplitSeq(string(data), "\n\n") {
		h := habit{}
		var wrong, right []string
		bare := true
		for line := range strings.Lines(block) {
			if line = strings.TrimSuffix(line, "\n"); line == "" {
				continue
			}
			text := line[min(1, len(line)):]
			if bare := !strings.Contains("\n"+block, "\n "); bare || !strings.ContainsRune("-+ ", rune(line[0])) {
				text = strings.TrimPrefix(text, " ")
			}
			switch {
			case strings.HasPrefix(line, "#"):
				of = text
			case strings.HasPrefix(line, "?"):
				h.told = append(h.told, text)
			case strings.HasPrefix(line, "-"):
				if h.line == 0 {
					h.line = len(wrong) + 1
				}
				wrong = append(wrong, text)
			case strings.HasPrefix(line, "+"):
				right = append(right, text)
			case strings.HasPrefix(line, " "):
				bare = false
				wrong, right = append(wrong, text), append(right, text)
			}
		}
		if len(wrong) == 0 {
			continue
		}
		before := habitHead
		indent := "  "
		if bare {
			before, indent = habitData, "        "
		}
		h.of = of
		h.wrong, h.right = before+strings.Join(wrong, "\n"+indent)+"\n", before+strings.Join(right, "\n"+indent)+"\n"
		if !bare {
			h.wrong, h.right = before+"  "+strings.Join(wrong, "\n  ")+"\n", before+"  "+strings.Join(right, "\n  ")+"\n"
		}
		h.line += strings.Count(before, "\n")
		all = append(all, h)
	}
	return all
}

// Of what authors bring from elsewhere, all is found on its line, nearly all is told what to write instead, and who does so
// has no finding left.
func TestHabits(t *testing.T) {
	t.Parallel()
	habits := readHabits(t)
	untold := 0
	for _, h := range habits {
		_, findings := compileCase(t, map[string]string{"rule.yaml": h.wrong, "crds.yaml": habitKind})
		text := ""
		for _, f := range findings {
			if f.Line == h.line {
				text += f.String() + "\n"
			}
		}
		wrong := strings.Split(h.wrong, "\n")[h.line-1]
		if text == "" {
			t.Errorf("%s: nothing is found in %s: %v", h.of, wrong, findings)
			continue
		}
		for _, told := range h.told {
			if !strings.Contains(text, told) {
				untold++
				t.Logf("%s: %s is not told %q, but:\n%s", h.of, wrong, told, text)
			}
		}
		_, findings = compileCase(t, map[string]string{"rule.yaml": h.right, "crds.yaml": habitKind})
		for _, f := range findings {
			t.Errorf("%s: who obeys, has\n%s\n%s", h.of, strings.Split(h.right, "\n")[h.line-1], diagnostic.Findings{f})
		}
	}
	if len(habits) < 150 || untold*100 > 4*len(habits) {
		t.Errorf("of %d texts, %d are not told what to write", len(habits), untold)
	}
}
