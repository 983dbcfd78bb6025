"""Names of the search attributes, which a server has to know before the first workflow is started (CONTRACT)."""

SESSION = "CountersignSession"
DOMAIN = "CountersignDomain"
REVIEW_STATUS = "CountersignReviewStatus"
NAMES = (SESSION, DOMAIN, REVIEW_STATUS)
