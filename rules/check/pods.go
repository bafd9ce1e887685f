package check

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

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
