package validation

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// Input is a template to check. It may have any mistakes.
type Input struct {
	Template *yamltree.Node
	Kind     schema.GroupKind
	// Report reports a mistake at a node of the template.
	Report func(n *yamltree.Node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding
	// At returns the position of a node.
	At func(n *yamltree.Node) diagnostic.Position
}

type checker struct{ Input }

// report reports a mistake. The message begins with the path of a field, which report prefixes with the kind.
func (c *checker) report(n *yamltree.Node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return c.Report(n, code, "%s.%s", c.Kind.Kind, fmt.Sprintf(format, args...))
}

// Check reports what the API server refuses in the template, whatever the values of its expressions are.
func Check(in Input) {
	c := checker{in}
	spec := in.Template.Get("spec")
	const template = "spec.template.spec"
	switch in.Kind {
	case schema.GroupKind{Kind: "Pod"}:
		c.pod("spec", spec, nil, true)
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "DaemonSet"},
		schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		c.selector(spec)
		c.restarts(template, at(spec, "template", "spec"))
		claims, all := items(spec.Get("volumeClaimTemplates"))
		c.pod(template, at(spec, "template", "spec"), claims, all)
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		c.restarts(template, at(spec, "template", "spec"))
		c.pod(template, at(spec, "template", "spec"), nil, true)
	case schema.GroupKind{Group: "batch", Kind: "CronJob"}:
		c.schedule(spec)
		c.restarts("spec.jobTemplate."+template, at(spec, "jobTemplate", "spec", "template", "spec"))
		c.pod("spec.jobTemplate."+template, at(spec, "jobTemplate", "spec", "template", "spec"), nil, true)
	case schema.GroupKind{Kind: "Service"}:
		c.servicePorts(spec)
	case schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "Secret"}:
		for _, field := range []string{"data", "stringData", "binaryData"} {
			c.keys(field, in.Template.Get(field))
		}
	}
}

// name reports a literal name that Kubernetes does not accept.
func (c *checker) name(path string, n *yamltree.Node, wrong func(string) []string) {
	if text, ok := literal(n); ok && text != "" && len(wrong(text)) > 0 {
		c.report(n, diagnostic.CodeObjectName, "%s: %q is not a name that Kubernetes accepts", path, text).WithHint("%s", wrong(text)[0])
	}
}

// servicePorts reports ports that need a name, and duplicate names.
func (c *checker) servicePorts(spec *yamltree.Node) {
	ports, _ := items(spec.Get("ports"))
	names := map[string]int{}
	for i, port := range ports {
		path := fmt.Sprintf("spec.ports[%d]", i)
		c.name(path+".name", port.Get("name"), validation.IsDNS1123Label)
		if len(ports) > 1 && lacks(port, "name") {
			c.report(port, diagnostic.CodeFieldMissing, "%s needs a name, because the Service has several ports", path)
			continue
		}
		text, ok := port.Get("name").Text()
		if first, twice := names[text]; ok && twice && isText(port.Get("name")) {
			c.report(port.Get("name"), diagnostic.CodeItemTwice, "%s has the same name as [%d]: each port of a Service needs its own", path, first)
		} else if ok {
			names[text] = i
		}
	}
}

// schedule reports a schedule, or a time zone, that a CronJob cannot have.
func (c *checker) schedule(spec *yamltree.Node) {
	n := spec.Get("schedule")
	if text, ok := literal(n); ok {
		_, err := cron.ParseStandard(text)
		switch {
		case strings.Contains(text, "TZ"):
			c.report(n, diagnostic.CodeFieldFormat, "spec.schedule: %q has a time zone", text).WithHint("write it as spec.timeZone")
		case err != nil:
			c.report(n, diagnostic.CodeFieldFormat, "spec.schedule: %q is no schedule: %s", text, err).WithHint(`write one such as "0 3 * * *", for 3:00 each day`)
		}
	}
	n = spec.Get("timeZone")
	if text, ok := literal(n); ok && !isZone(text) {
		c.report(n, diagnostic.CodeFieldFormat, "spec.timeZone: %q is no time zone", text).WithHint("write one such as Europe/Berlin, or Etc/UTC")
	}
}

// isZone reports whether a time zone exists. On a machine without a database of time zones, every name counts as one.
func isZone(name string) bool {
	if name == "" || strings.EqualFold(name, "Local") {
		return false
	}
	_, err := time.LoadLocation(name)
	_, none := time.LoadLocation("Europe/Berlin")
	return err == nil || none != nil
}

// keys reports keys that a ConfigMap or a Secret cannot have.
func (c *checker) keys(path string, data *yamltree.Node) {
	for _, f := range data.Entries() {
		c.name(path+"."+f.Name, f.Key, validation.IsConfigMapKey)
	}
}
