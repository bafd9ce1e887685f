package yamltree

// A document may be hostile. These bounds keep the memory and the time of reading it in
// proportion to its length.
const (
	// MaxDocuments is how many documents a source may have.
	MaxDocuments = 5_000
	// maxNodes is how many nodes one document may have once its aliases are followed. The
	// largest object that etcd takes, 1.5 MiB, has fewer.
	maxNodes = 200_000
	// maxDepth is how many levels a document may have, as in the JSON decoder of
	// Kubernetes.
	maxDepth = 100

	// maxProbes is how often a document that does not parse is parsed again to find the
	// mistake, maxProbed how many bytes of a source are, and leastProbed what each time
	// counts at the least. Parsing takes about 100 ns for each byte.
	maxProbes, maxProbed, leastProbed = 200, 4 << 20, 4 << 10
)

// expressionStart begins an expression in a value. What an expression may hold is known to
// the package syntax; here it only matters that values hold some, and how many.
const expressionStart = "${"
