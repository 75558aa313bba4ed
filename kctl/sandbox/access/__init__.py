"""Who may do what: the rules of the authorizer, the SCRAM credentials of users, and the quotas of clients."""
