package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// objectChecker finds mistakes in a template that the API server refuses, whatever the values of expressions are:
// constraints between fields that no schema of Kubernetes has. It only reports what is certain: it compares literals, and
// expressions with the same text. If part of a mapping or a list comes from an expression, it reports nothing missing there.
// A test in restmapping/openapi asks a real API server: it must refuse the test templates with findings, and accept the
// others.
type objectChecker struct {
	*Reporter
	kind string
	// completes is true for kinds whose Pods run to completion.
	completes bool
}

// report reports a mistake. The message begins with the path of a field, which report prefixes with the kind.
func (c *objectChecker) report(n *yamltree.Node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return c.Report(c.At(n), code, "%s.%s", c.kind, fmt.Sprintf(format, args...))
}

// Refused reports what the API server refuses in the template, whatever the values of its expressions are.
func Refused(r *Reporter, object *yamltree.Node, kind schema.GroupKind) {
	c := objectChecker{r, kind.Kind, kind.Group == "batch"}
	spec := object.Get("spec")
	const template = "spec.template.spec"
	switch kind {
	case schema.GroupKind{Kind: "Pod"}:
		c.pod("spec", spec, nil, true)
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "DaemonSet"},
		schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		c.selector(spec)
		c.restarts(template, below(spec, "template", "spec"))
		claims, all := itemsOf(spec.Get("volumeClaimTemplates"))
		c.pod(template, below(spec, "template", "spec"), claims, all)
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		c.restarts(template, below(spec, "template", "spec"))
		c.pod(template, below(spec, "template", "spec"), nil, true)
	case schema.GroupKind{Group: "batch", Kind: "CronJob"}:
		c.schedule(spec)
		c.restarts("spec.jobTemplate."+template, below(spec, "jobTemplate", "spec", "template", "spec"))
		c.pod("spec.jobTemplate."+template, below(spec, "jobTemplate", "spec", "template", "spec"), nil, true)
	case schema.GroupKind{Kind: "Service"}:
		c.servicePorts(spec)
	case schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "Secret"}:
		for _, field := range []string{"data", "stringData", "binaryData"} {
			c.keys(field, object.Get(field))
		}
	}
}

func (c *objectChecker) name(path string, n *yamltree.Node, wrong func(string) []string) {
	if text, ok := literal(n); ok && text != "" && len(wrong(text)) > 0 {
		c.report(n, diagnostic.CodeObjectName, "%s: %q is not a name that Kubernetes accepts", path, text).WithHint("%s", wrong(text)[0])
	}
}

// servicePorts reports ports that need a name, and duplicate names.
func (c *objectChecker) servicePorts(spec *yamltree.Node) {
	ports, _ := itemsOf(spec.Get("ports"))
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
func (c *objectChecker) schedule(spec *yamltree.Node) {
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
func (c *objectChecker) keys(path string, data *yamltree.Node) {
	for _, f := range data.Entries() {
		c.name(path+"."+f.Name, f.Key, validation.IsConfigMapKey)
	}
}

// selector reports a selector that selects nothing, or not the Pods of its own template.
func (c *objectChecker) selector(spec *yamltree.Node) {
	selector := spec.Get("selector")
	if selector == nil || selector.Kind != yamltree.Mapping || isOpen(selector) || hasOther(selector, "matchLabels", "matchExpressions") {
		return // package conform reports a missing selector and unknown fields
	}
	match, hasExpressions := selector.Get("matchLabels"), !lacks(selector, "matchExpressions")
	labels, all := c.podLabels(spec.Get("template"))
	switch {
	case lacks(selector, "matchLabels") || match.Kind == yamltree.Mapping && !isOpen(match) && len(match.Fields) == 0:
		if !hasExpressions {
			c.report(selector, diagnostic.CodeSelectorLabels, "spec.selector is empty, and a %s needs one that selects its Pods", c.kind).
				WithHint("write matchLabels with labels of spec.template.metadata.labels")
		}
	case match.Kind != yamltree.Mapping:
		if all && len(labels) == 0 {
			c.report(match, diagnostic.CodeSelectorLabels, "spec.selector selects by labels, and spec.template.metadata.labels has none").
				WithHint("write the same as labels of the template")
		}
	default:
		for _, wanted := range match.Fields {
			c.selects(wanted, labels, all)
		}
	}
}

// podLabels returns the labels of a Pod template. all is true if it certainly has no others.
func (c *objectChecker) podLabels(template *yamltree.Node) (labels map[string]*yamltree.Node, all bool) {
	if template == nil || isOpen(template) {
		return nil, false
	}
	if lacks(template, "metadata") || lacks(template.Get("metadata"), "labels") {
		return nil, true
	}
	written := below(template, "metadata", "labels")
	if written == nil || written.Kind != yamltree.Mapping {
		return nil, false
	}
	labels = map[string]*yamltree.Node{}
	for _, f := range written.Fields {
		labels[f.Name] = f.Value
	}
	return labels, !isOpen(written)
}

func (c *objectChecker) selects(wanted yamltree.Field, labels map[string]*yamltree.Node, all bool) {
	have, ok := labels[wanted.Name]
	want, isLiteral := literal(wanted.Value)
	switch value, haveLiteral := literal(have); {
	case !isText(wanted.Value):
	case (!ok || isNull(have)) && all:
		c.report(wanted.Key, diagnostic.CodeSelectorLabels, "spec.selector selects by %[1]s, and spec.template.metadata.labels has no %[1]s", wanted.Name).
			WithHint("give the template the same label")
	case ok && isLiteral && haveLiteral && value != want:
		c.report(wanted.Value, diagnostic.CodeSelectorLabels, "spec.selector.matchLabels.%[1]s is %[2]q, and spec.template.metadata.labels.%[1]s is %[3]q", wanted.Name, want, value).
			WithRelated(c.At(have), "the label is here").WithHint("write the same in both")
	}
}

// isOpen reports whether a node may have unknown fields, because the node or one of its keys is an expression.
func isOpen(n *yamltree.Node) bool {
	return n.Kind != yamltree.Mapping || len(n.Lost) > 0 ||
		slices.ContainsFunc(n.Fields, func(f yamltree.Field) bool { return yamltree.HasExpression(f.Name) })
}

// lacks reports whether a mapping certainly does not have a field. A field that is null does not exist.
func lacks(n *yamltree.Node, field string) bool {
	if n == nil {
		return true
	}
	if n.Kind == yamltree.Scalar {
		return n.Value == nil
	}
	value := n.Get(field)
	return !isOpen(n) && (value == nil || isNull(value))
}

func below(n *yamltree.Node, path ...string) *yamltree.Node {
	for _, field := range path {
		n = n.Get(field)
	}
	return n
}

func literal(n *yamltree.Node) (string, bool) {
	text, ok := n.Text()
	return text, ok && !yamltree.HasExpression(text)
}

// itemsOf returns the items of a list that are mappings. all is true if the list certainly has no others.
func itemsOf(n *yamltree.Node) (found []*yamltree.Node, all bool) {
	if n == nil || isNull(n) {
		return nil, true
	}
	if n.Kind != yamltree.Sequence {
		return nil, false
	}
	all = len(n.Lost) == 0
	for _, item := range n.Items {
		if item.Kind == yamltree.Mapping {
			found = append(found, item)
		} else {
			all = false
		}
	}
	return found, all
}

// alwaysText matches expressions whose value is always text. Others can be null, which leaves a field out.
var alwaysText = regexp.MustCompile(`^\$\{\s*parent\.metadata\.(name|namespace|uid)\s*\}$`)

// isText reports whether the value of a node is certainly text.
func isText(n *yamltree.Node) bool {
	text, ok := n.Text()
	if !ok || !yamltree.HasExpression(text) || alwaysText.MatchString(text) {
		return ok
	}
	parts, err := yamltree.Scan(text)
	if err != nil {
		return false
	}
	_, whole := yamltree.Whole(parts)
	return !whole // text around an expression
}

// hasOther reports whether a mapping has other fields than these.
func hasOther(n *yamltree.Node, fields ...string) bool {
	return slices.ContainsFunc(n.Fields, func(f yamltree.Field) bool { return !slices.Contains(fields, f.Name) })
}

// pod reports mistakes in the spec of Pods. claims are the volumeClaimTemplates of a StatefulSet; allClaims is true if
// it certainly has no others.
func (c *objectChecker) pod(path string, spec *yamltree.Node, claims []*yamltree.Node, allClaims bool) {
	if spec == nil || spec.Kind != yamltree.Mapping {
		return
	}
	volumes, allVolumes := itemsOf(spec.Get("volumes"))
	for i, volume := range volumes {
		c.name(fmt.Sprintf("%s.volumes[%d].name", path, i), volume.Get("name"), validation.IsDNS1123Label)
	}
	volumes = slices.Concat(claims, volumes)
	all := allVolumes && allClaims && !isOpen(spec)
	for _, field := range []string{"initContainers", "containers"} {
		containers, _ := itemsOf(spec.Get(field))
		for i, container := range containers {
			at := fmt.Sprintf("%s.%s[%d]", path, field, i)
			c.name(at+".name", container.Get("name"), validation.IsDNS1123Label)
			c.container(at, container)
			c.mounts(at, container, volumes, all)
		}
	}
	c.uniqueContainers(path, spec)
}

// uniqueContainers reports containers with the name of an init container. Duplicates in one list are reported by the
// keys of the list.
func (c *objectChecker) uniqueContainers(path string, spec *yamltree.Node) {
	initial, _ := itemsOf(spec.Get("initContainers"))
	containers, _ := itemsOf(spec.Get("containers"))
	for i, container := range containers {
		name, ok := container.Get("name").Text()
		if ok && isText(container.Get("name")) && slices.ContainsFunc(initial, func(other *yamltree.Node) bool {
			text, _ := other.Get("name").Text()
			return text == name
		}) {
			c.report(container.Get("name"), diagnostic.CodeItemTwice, "%s.containers[%d] has the same name as an init container: each container of a Pod needs its own", path, i)
		}
	}
}

func (c *objectChecker) container(path string, container *yamltree.Node) {
	ports, _ := itemsOf(container.Get("ports"))
	for i, port := range ports {
		c.name(fmt.Sprintf("%s.ports[%d].name", path, i), port.Get("name"), validation.IsValidPortName)
	}
	for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		n := container.Get(probe)
		if n == nil || n.Kind != yamltree.Mapping || isOpen(n) {
			continue
		}
		if !slices.ContainsFunc([]string{"exec", "grpc", "httpGet", "tcpSocket"}, func(handler string) bool { return !lacks(n, handler) }) {
			c.report(n, diagnostic.CodeFieldMissing, "%s.%s needs one of exec, grpc, httpGet and tcpSocket", path, probe)
		}
	}
	resources := container.Get("resources")
	for _, request := range resources.Get("requests").Entries() {
		limit := resources.Get("limits").Get(request.Name)
		asked, ok1 := quantity(request.Value)
		most, ok2 := quantity(limit)
		if ok1 && ok2 && asked.Cmp(most) > 0 {
			c.report(request.Value, diagnostic.CodeRequestAboveLimit, "%s.resources.requests.%s is %s, and its limit is %s",
				path, request.Name, asked.String(), most.String()).WithRelated(c.At(limit), "the limit is here").WithHint("write a request that is not above the limit")
		}
	}
}

func quantity(n *yamltree.Node) (q resource.Quantity, ok bool) {
	if n == nil || n.Kind != yamltree.Scalar || n.Value == nil {
		return q, false
	}
	q, err := resource.ParseQuantity(fmt.Sprint(n.Value))
	return q, err == nil
}

func (c *objectChecker) mounts(path string, container *yamltree.Node, volumes []*yamltree.Node, all bool) {
	mounts, _ := itemsOf(container.Get("volumeMounts"))
	for i, mount := range mounts {
		name := mount.Get("name")
		text, ok := name.Text()
		if !ok || !all || !isText(name) {
			continue
		}
		_, isLiteral := literal(name)
		mayHave := slices.ContainsFunc(volumes, func(volume *yamltree.Node) bool {
			of := volume.Get("name")
			if of == nil {
				of = below(volume, "metadata", "name") // a claim
			}
			have, isString := of.Text()
			_, haveLiteral := literal(of)
			return !isString || have == text || !isLiteral || !haveLiteral
		})
		if !mayHave {
			c.report(name, diagnostic.CodeNoVolume, "%s.volumeMounts[%d] mounts the volume %q, and the Pod has no such volume", path, i, text).
				WithHint("add it to volumes, or mount one that is there")
		}
	}
}

// restarts reports a restartPolicy that a kind does not allow for its Pods.
func (c *objectChecker) restarts(path string, spec *yamltree.Node) {
	if spec == nil || spec.Kind != yamltree.Mapping {
		return
	}
	policy := spec.Get("restartPolicy")
	text, isLiteral := literal(policy)
	switch runsToCompletion := c.completes; {
	case runsToCompletion && lacks(spec, "restartPolicy"):
		c.report(spec, diagnostic.CodeFieldMissing, "%s needs restartPolicy: Never or OnFailure, because it is of a %s", path, c.kind)
	case runsToCompletion && isLiteral && text == "Always":
		c.report(policy, diagnostic.CodeFieldEnum, "%s.restartPolicy of a %s must be Never or OnFailure, not Always", path, c.kind)
	case !runsToCompletion && isLiteral && (text == "Never" || text == "OnFailure"):
		c.report(policy, diagnostic.CodeFieldEnum, "%s.restartPolicy of a %s must be Always, not %s", path, c.kind, text).WithHint("leave it out")
	}
}
