def clean(record):
    return record
