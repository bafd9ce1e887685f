package yamltree

// A document may be hostile. These bounds keep the memory and the time to read it proportional to its length.
const (
	// MaxDocuments is how many documents a source may have.
	MaxDocuments = 5_000
	// maxNodes is how many nodes a document may have after its aliases are resolved. The largest object that etcd takes,
	// 1.5 MiB, has fewer.
	maxNodes = 200_000
	// maxDepth is how many levels a document may have, as in the JSON decoder of Kubernetes.
	maxDepth = 100

	// A document that does not parse is parsed again, in parts, to find the mistake: at most maxProbes times, and at most
	// maxProbed bytes of a source. Each time counts as at least leastProbed bytes. Parsing takes about 100 ns per byte.
	maxProbes, maxProbed, leastProbed = 200, 4 << 20, 4 << 10
)

// expressionStart begins an expression in a value. Package scanner knows where an expression ends; this package only
// counts expressions.
const expressionStart = "${"
