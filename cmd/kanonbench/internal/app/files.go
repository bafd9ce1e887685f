package app

import (
	_ "embed" // the definition and the rule
	"strings"
)

//go:embed crd.yaml
var definition string

//go:embed rule.yaml
var rule string

// Definition is the CustomResourceDefinition of App, as YAML.
func Definition() string { return definition }

// extraChild is a further child of the rule, for Apps with extra > 0.
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

// Rule is the work as a rule of Kanon; with extra, it also makes the ConfigMaps
// beyond the three children.
func Rule(extra bool) string {
	if !extra {
		return rule
	}
	return strings.Replace(rule, "  status:\n", extraChild+"  status:\n", 1)
}
