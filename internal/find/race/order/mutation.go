package order

// mutation is a mistake in the reduction that a test must notice.
type mutation uint8

const (
	none        mutation = iota
	actorInKey           // what was seen is looked up without the actor at work
	budgetInKey          // what was seen with fewer preemptions left counts as seen
	relearning           // it does not begin again with what it learned
	noReaders            // a write is not contested by those who read
	noWriters            // which write an access finds does not count
	firstWord            // only the first word of an access counts
)
