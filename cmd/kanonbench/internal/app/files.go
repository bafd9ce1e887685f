package app

import (
	_ "embed" // the definition and the rule
	"fmt"
	"strings"
)

//go:embed crd.yaml
var definition string

//go:embed rule.yaml
var rule string

// Definition is the CustomResourceDefinition of a kind, as YAML.
func Definition(kind Kind) string {
	return strings.NewReplacer(
		"apps.bench", kind.Resource()+".bench",
		"{kind: App, plural: apps, singular: app, listKind: AppList}",
		fmt.Sprintf("{kind: %s, plural: %s, singular: %s, listKind: %[1]sList}", kind, kind.Resource(), strings.ToLower(kind.String())),
	).Replace(definition)
}

// extraChild is the additional child in the rule for Apps with extra > 0.
const extraChild = `    - id: extra
      forEach: [{name: i, in: "${lists.range(parent.spec.extra)}"}]
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: ${parent.metadata.name}-${string(i)}
          labels: ${variables.labels}
        data:
          revision: ${parent.spec.revision}
          mode: production
`

// Rules is the work as rules of Kanon, one per kind. With extra, they also make the ConfigMaps beyond the three
// children. size is the size of the ConfigMap's bulk.
func Rules(kinds int, extra bool, size int) string {
	text := rule
	if extra {
		text = strings.Replace(text, "  status:\n", extraChild+"  status:\n", 1)
	}
	if size > 0 {
		const data = "          mode: production\n"
		text = strings.Replace(text, data, data+"          bulk: "+bulk(size)+"\n", 1)
	}
	rules := make([]string, kinds)
	for i := range rules {
		kind := Kind(i)
		rules[i] = strings.NewReplacer(
			"name: app\n", "name: "+strings.ToLower(kind.String())+"\n",
			"kind: App\n", "kind: "+kind.String()+"\n",
		).Replace(text)
	}
	return strings.Join(rules, "---\n")
}
